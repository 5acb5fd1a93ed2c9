// Notices: messages of the server and the state of the connection.

import { byId, make } from "./elements.js";

const TOAST = 5000; // ms
const MOST_TOASTS = 3;

/** Show a short message: of what went wrong, or (``plain``) of what a task is doing. */
export function toast(text, plain = false) {
  const toasts = byId("toasts");
  const shown = [...toasts.children].find((child) => child.textContent === text);
  const element = shown ?? make("div", { className: "toast", textContent: text });
  element.classList.toggle("plain", plain);
  toasts.append(element);
  clearTimeout(element.timer);
  element.timer = setTimeout(() => element.remove(), TOAST);
  while (toasts.children.length > MOST_TOASTS) toasts.firstChild.remove();
}

/** Show across the page why nothing moves; null removes the text. */
export function showBanner(text) {
  const banner = byId("banner");
  banner.hidden = text === null;
  banner.textContent = text ?? "";
}
