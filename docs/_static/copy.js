// A button on every block of code that copies it, without the prompts and the output of a console.
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

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight > pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = block.innerText.split("\n"), commands = lines.filter(line => line.startsWith("$ ")).map(line => line.slice(2));
      await copy(commands.length ? commands.join("\n") : block.innerText.trimEnd());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.parentElement.style.position = "relative";
    block.parentElement.append(button);
  }
});
