// A button on every block of code that copies it, without the prompts and the output of a console.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight > pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = block.innerText.split("\n"), commands = lines.filter(line => line.startsWith("$ ")).map(line => line.slice(2));
      await navigator.clipboard.writeText(commands.length ? commands.join("\n") : block.innerText);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.parentElement.style.position = "relative";
    block.parentElement.append(button);
  }
});
