"""What the measuring scripts share."""
import subprocess


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **options)
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}: {' / '.join(tail)}")
    return done.stdout


def table(header, rows):
    widths = [max(len(str(row[i])) for row in [header] + rows) for i in range(len(header))]
    for row in [header] + rows:
        cells = [str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print(("  " + "  ".join(cells)).rstrip())
