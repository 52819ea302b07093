"""What users other than root can reach. Tests that become one of them are left out where the source or the build is in a folder of root's."""


def folder_in_the_way(*paths):
    """The outermost folder on the way to one of these that lets no other user pass; None where there is none."""
    for path in paths:
        for folder in reversed([path, *path.parents]):
            if folder.is_dir() and not folder.stat().st_mode & 1:
                return folder
    return None
