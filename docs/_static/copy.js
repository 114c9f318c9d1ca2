// A button on every block of code that copies it, without the prompts and the output of a console or of Python; and the colours of
// the page for the lab in it.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page that came over plain HTTP has no access to the clipboard; the older method works there.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// What a visitor types: the lines after "$", with those that a backslash continues; or those after ">>>" and "...". Else all.
function typed(text) {
  const lines = text.trimEnd().split("\n"), found = [];
  if (lines.some(line => /^>>>( |$)/.test(line))) return lines.filter(line => /^(>>>|\.\.\.)( |$)/.test(line)).map(line => line.slice(4)).join("\n");
  lines.forEach((line, k) => {
    if (line.startsWith("$ ")) found.push(line.slice(2));
    else if (found.length && found.at(-1).endsWith("\\") && lines[k - 1].endsWith("\\")) found.push(line.replace(/^> /, ""));
  });
  return (found.length ? found : lines).join("\n");
}

// The lab is dark or light as the page around it, which has a button for that.
function colourLabs() {
  const theme = {light: "light", dark: "dark"}[document.body.dataset.theme] ?? "";
  for (const frame of document.querySelectorAll("iframe.moving-lab")) frame.contentWindow.postMessage({theme}, "*");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const frame of document.querySelectorAll("iframe.moving-lab")) frame.addEventListener("load", colourLabs);
  new MutationObserver(colourLabs).observe(document.body, {attributes: true, attributeFilter: ["data-theme"]});
  colourLabs();
  for (const block of document.querySelectorAll("div.highlight > pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await copy(typed(block.innerText));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.parentElement.style.position = "relative";
    block.parentElement.append(button);
  }
});
