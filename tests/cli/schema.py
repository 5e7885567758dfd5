# SPDX-License-Identifier: BSD-3-Clause
"""As much of JSON Schema as docs/asrpdump.schema.json uses. An unknown keyword is an error, so that none is passed over."""
import re

NOTES = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def _is_type(value, name):
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Schema:
    def __init__(self, root):
        self.root = root

    def problems(self, value, schema=None, at="$"):
        """What of `value` the schema does not allow; empty if it holds."""
        schema = self.root if schema is None else schema
        if schema is False:
            return [f"{at}: must not be there"]
        found = []
        for keyword, rule in schema.items():
            if keyword not in NOTES and keyword not in ("then", "else"):
                found += getattr(self, "_" + keyword.lstrip("$"))(value, rule, at, schema)
        return found

    def _ref(self, value, rule, at, _):
        return self.problems(value, self.root["$defs"][rule.removeprefix("#/$defs/")], at)

    def _type(self, value, rule, at, _):
        return [] if _is_type(value, rule) else [f"{at}: {value!r} is no {rule}"]

    def _enum(self, value, rule, at, _):
        return [] if value in rule else [f"{at}: {value!r} is none of {rule}"]

    def _const(self, value, rule, at, _):
        return [] if value == rule and type(value) is type(rule) else [f"{at}: {value!r} is not {rule!r}"]

    def _minimum(self, value, rule, at, _):
        return [] if not _is_type(value, "number") or value >= rule else [f"{at}: {value} is less than {rule}"]

    def _maximum(self, value, rule, at, _):
        return [] if not _is_type(value, "number") or value <= rule else [f"{at}: {value} is more than {rule}"]

    def _pattern(self, value, rule, at, _):
        return [] if not isinstance(value, str) or re.search(rule, value) else [f"{at}: {value!r} does not match {rule}"]

    def _required(self, value, rule, at, _):
        return [f"{at}: {key} is missing" for key in rule if key not in value]

    def _properties(self, value, rule, at, _):
        return [p for key, sub in rule.items() if key in value for p in self.problems(value[key], sub, f"{at}.{key}")]

    def _additionalProperties(self, value, rule, at, schema):
        assert rule is False
        return [f"{at}: {key} is not known" for key in value if key not in schema["properties"]]

    def _items(self, value, rule, at, _):
        return [p for i, item in enumerate(value) for p in self.problems(item, rule, f"{at}[{i}]")]

    def _uniqueItems(self, value, rule, at, _):
        return [] if len(set(value)) == len(value) or not rule else [f"{at}: something is there twice"]

    def _anyOf(self, value, rule, at, _):
        return [] if any(not self.problems(value, sub, at) for sub in rule) else [f"{at}: {value!r} fits nothing"]

    def _if(self, value, rule, at, schema):
        branch = "else" if self.problems(value, rule, at) else "then"
        return self.problems(value, schema[branch], at) if branch in schema else []
