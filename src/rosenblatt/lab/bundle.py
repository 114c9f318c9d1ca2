"""The page's modules as one: a notebook loads a widget's script from a text, where an import of a neighbour leads nowhere.

The modules are written by hand in a small part of the language: imports of names from neighbours stand at the top, one to a line,
and what is exported is a ``const``, a ``function`` or a ``class``, or the default. Each
becomes a function of its own, called once.
"""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def bundle(folder: Path, name: str) -> str:
    """The module `name` and all that it needs, as the text of one module."""
    made: dict[str, str] = {}
    _add(folder, name, made)
    last = made.pop(name)
    return "\n".join([*made.values(), last])


def _add(folder: Path, name: str, made: dict[str, str]) -> None:
    text = (folder / f"{name}.js").read_text(encoding="utf-8")
    imports = _IMPORT.findall(text)
    for _, other in imports:
        if other not in made:
            _add(folder, other, made)
    named = "".join(f"const {{{names}}} = module_{other};\n" for names, other in imports)
    body = named + _IMPORT.sub("", text)
    exported = ", ".join(export for _, export in _EXPORT.findall(body))
    if "export default" in body:
        made[name] = body
        return
    plain = _EXPORT.sub(r"\1", body)
    made[name] = f"const module_{name} = (() => {{\n{plain}\nreturn {{{exported}}};\n}})();"
