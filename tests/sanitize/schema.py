"""Holds documents of wavetap sanitize against docs/schemas/sanitize-1.schema.json. Knows what that file uses of JSON Schema, and refuses
what it does not know. Keys that the schema does not name are wrong here: whoever adds one adds it there."""
import json
import pathlib
import re

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/schemas/sanitize-1.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "integer": int}
KNOWN = {"$schema", "$ref", "$defs", "title", "description", "type", "required", "properties", "items", "minItems", "maxItems", "enum",
         "const", "pattern", "minimum", "anyOf"}


def wrong_keys(value, schema, where, is_part=False):
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where}: no {key}"
    for key, part in value.items():
        if key in schema.get("properties", {}):
            yield from wrong_in(part, schema["properties"][key], f"{where}.{key}")
        elif not is_part:
            yield f"{where}: {key} is not in the schema"


def wrong_in(value, schema, where="document", is_part=False):
    """What is wrong, as sentences."""
    if unknown := schema.keys() - KNOWN:
        raise SystemExit(f"schema.py does not know {unknown}")
    if "$ref" in schema:
        yield from wrong_in(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
        return
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool)):
        yield f"{where}: {value!r} is not of type {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value} is below {schema['minimum']}"
    if isinstance(value, dict):
        yield from wrong_keys(value, schema, where, is_part)
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} elements"
        for number, part in enumerate(value):
            yield from wrong_in(part, schema.get("items", {}), f"{where}[{number}]")
    choices = schema.get("anyOf")
    if choices and all(list(wrong_in(value, choice, where, is_part=True)) for choice in choices):
        yield f"{where}: is none of {choices}"


def check(document):
    """Raises ValueError unless the document is right."""
    wrong = list(wrong_in(document, SCHEMA))
    if wrong:
        raise ValueError("\n".join(wrong))
    return document


def check_sarif(log):
    """What SARIF 2.1.0 requires of a log, of what is in ours. Raises ValueError. Returns the results."""
    wrong = []

    def need(good, what):
        if not good:
            wrong.append(what)

    need(log["version"] == "2.1.0", f"version {log['version']}")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        need(driver["name"], "a tool without a name")
        rules = [rule["id"] for rule in driver["rules"]]
        need(len(rules) == len(set(rules)), "rules of one name")
        need(all(rule["shortDescription"]["text"] for rule in driver["rules"]), "a rule without a description")
        need(all(isinstance(one["executionSuccessful"], bool) for one in run["invocations"]), "an invocation without a result")
        for result in run["results"]:
            need(result["ruleId"] in rules, f"no rule {result['ruleId']}")
            need(result["message"]["text"], "a result without a message")
            need(result["level"] in ("none", "note", "warning", "error"), f"level {result['level']}")
            need(result["occurrenceCount"] >= 1, "a result that did not occur")
            for place in [*result["locations"], *result.get("relatedLocations", [])]:
                physical = place.get("physicalLocation")
                need(physical is None or (re.fullmatch(r"[A-Za-z0-9/\-._~+%:]+", physical["artifactLocation"]["uri"])
                                          and physical["region"]["startLine"] >= 1), f"place {place}")
    if wrong:
        raise ValueError("\n".join(wrong))
    return [result for run in log["runs"] for result in run["results"]]


def check_kinds():
    """The kinds and tools of the schema are those of src/sanitize/kinds.inc. Returns what is wrong."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "src/sanitize/kinds.inc").read_text()
    finding = SCHEMA["$defs"]["finding"]["properties"]
    kinds = re.findall(r'^WT_KIND\(\w+, *\w+, *\w+, *"([a-z-]+)"', text, re.M)
    tools = re.findall(r'^WT_TOOL\(\w+, "(\w+)"', text, re.M)
    return [f"{what}: {found} and {known}" for what, found, known in (("kinds", kinds, finding["kind"]["enum"]), ("tools", tools, finding["tool"]["enum"]))
            if not found or sorted(found) != sorted(known)]
