// Buttons that copy the text of a field: data-copy is its id.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy"); // without https, browsers have no clipboard
    }
    button.textContent = "Copied";
  });
}
