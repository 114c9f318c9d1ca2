"""Bundle the JavaScript modules: a notebook and a page in one file have one script, where relative imports do not work.

The modules use a small part of the language: imports of names from modules in the same folder or one below are at the top, one
per line, and exports are a ``const`` with one name, a ``function`` or a ``class``, or the default. Each module becomes a function
that is called once.
"""

import base64
import json
import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./((?:\w+/)?\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def bundle(folder: Path, name: str) -> str:
    """Source of one module with the module `name` and all modules that it imports."""
    made: dict[Path, str] = {}
    path = folder / f"{name}.js"
    _add(path, made)
    last = made.pop(path)
    return "\n".join([*made.values(), last])


def _add(path: Path, made: dict[Path, str]) -> None:
    text = path.read_text(encoding="utf-8")
    imports = [(names, path.parent / f"{other}.js") for names, other in _IMPORT.findall(text)]
    for _, other in imports:
        if other not in made:
            _add(other, made)
    named = "".join(f"const {{{names}}} = module_{other.stem};\n" for names, other in imports)
    body = named + _IMPORT.sub("", text)
    exported = ", ".join(export for _, export in _EXPORT.findall(body))
    if not exported:
        made[path] = body
        return
    plain = _EXPORT.sub(r"\1", body)
    made[path] = f"const module_{path.stem} = (() => {{\n{plain}\nreturn {{{exported}}};\n}})();"


def one_file() -> str:
    """The whole lab as one HTML page that needs no server and no network."""
    from .catalogue import catalogue

    page = (STATIC / "index.html").read_text(encoding="utf-8")
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    data = json.dumps(catalogue(), allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    script, engine = (
        bundle(*one).replace("</script", "<\\/script") for one in ((STATIC, "page"), (STATIC / "engine", "worker"))
    )
    replaced = {
        '<link rel="icon" href="icon.svg" type="image/svg+xml">': f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">',
        '<link rel="stylesheet" href="lab.css">': f"<style>\n{(STATIC / 'lab.css').read_text(encoding='utf-8')}</style>",
        '<script type="module" src="page.js"></script>\n': "",
        "</body>": f'<script type="application/json" id="catalogue">{data}</script>\n'
        f'<script type="text/plain" id="engine">\n{engine}</script>\n'
        f'<script type="module">\n{script}</script>\n</body>',
    }
    for part, new in replaced.items():
        assert page.count(part) == 1, part
        page = page.replace(part, new)
    return page
