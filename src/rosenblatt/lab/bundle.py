"""Bundle the JavaScript modules: a notebook loads the script of a widget from a string, where relative imports do not work.

The modules use a small part of the language: imports of names from modules in the same folder are at the top, one per line, and
exports are a ``const``, a ``function`` or a ``class``, or the default. Each module becomes a function that is called once.
"""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def bundle(folder: Path, name: str) -> str:
    """Source of one module with the module `name` and all modules that it imports."""
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
