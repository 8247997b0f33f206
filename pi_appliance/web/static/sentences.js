// Messages as sentences: first letter large, a full stop at the end, code between backticks as <code>, no
// commands in parentheses. sentences.py does the same on the server.

const CODE = /`([^`\n]+)`/;
const FIRST_WORD = /^\p{L}+(?=[\s,;]|$)/u; // no path, address, file name or `name:`
const TERMINAL = / \(sudo [^()]*\)/g; // a command, which nobody can type on a page

// Text nodes and elements, never HTML: a message may quote anything.
export function showSentence(element, message) {
  let text = (message ?? "").trim().replace(TERMINAL, "");
  if (FIRST_WORD.test(text)) text = text[0].toUpperCase() + text.slice(1);
  if (text && !/[.!?…:]$/.test(text) && !text.includes("\n")) text += ".";
  element.replaceChildren(...text.split(CODE).map((part, index) => (index % 2 ? codeElement(part) : part)));
}

const codeElement = (text) => Object.assign(document.createElement("code"), { textContent: text });

// The text of a message that a page shows, with its code between backticks again.
export function messageIn(element) {
  const copy = element.cloneNode(true);
  for (const code of copy.querySelectorAll("code")) code.textContent = `\`${code.textContent}\``;
  return copy.textContent.trim();
}
