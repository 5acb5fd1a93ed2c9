// Words from the server, and what became of it.

import { byId, make } from "./elements.js";

const TOAST = 5000; // ms
const MOST_TOASTS = 3;

/** A short word on something that was refused. */
export function toast(text) {
  const toasts = byId("toasts");
  const shown = [...toasts.children].find((child) => child.textContent === text);
  const element = shown ?? make("div", { className: "toast", textContent: text });
  toasts.append(element);
  clearTimeout(element.timer);
  element.timer = setTimeout(() => element.remove(), TOAST);
  while (toasts.children.length > MOST_TOASTS) toasts.firstChild.remove();
}

/** Tells across the page why nothing moves; null when it does. */
export function showBanner(text) {
  const banner = byId("banner");
  banner.hidden = text === null;
  banner.textContent = text ?? "";
}
