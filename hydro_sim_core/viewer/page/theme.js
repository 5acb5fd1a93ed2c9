// Light or dark theme: that of the system, unless chosen here or by `?theme=`.

const query = matchMedia("(prefers-color-scheme: dark)");

/** Events: "change". Colours are read from the style sheet, the only place that defines them. */
export class Theme extends EventTarget {
  /** @param {string} chosen "auto", "light" or "dark". */
  constructor(chosen) {
    super();
    query.addEventListener("change", () => this.choose(this.chosen));
    this.choose(chosen);
  }

  choose(chosen) {
    this.chosen = chosen;
    this.name = chosen === "auto" ? (query.matches ? "dark" : "light") : chosen;
    document.documentElement.dataset.theme = this.name;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} name Name of a custom property, without its dashes. */
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }
}
