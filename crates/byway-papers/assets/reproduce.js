// A click on a point shows the command that runs it again; another one copies it.
"use strict";
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  const again = figure.querySelector(".again");
  if (!again) continue;
  const [code, copy] = [again.querySelector("code"), again.querySelector("button")];
  for (const spot of figure.querySelectorAll(".spot")) {
    spot.addEventListener("click", () => {
      for (const other of figure.querySelectorAll(".spot.chosen")) other.classList.remove("chosen");
      spot.classList.add("chosen");
      code.textContent = spot.dataset.again;
      copy.textContent = "Copy";
      again.hidden = false;
    });
  }
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      // A page from a file may not write to the clipboard: the text is selected in place of that.
      getSelection().selectAllChildren(code);
    }
  });
}
