// The scenes that may be loaded in place of the one that is shown.

import { byId, make } from "./elements.js";

const OTHER = ""; // value of a scene that is not in the list

export class SceneChoice {
  /** @param {(command: object) => void} send */
  constructor(send) {
    this._select = byId("scene-choice");
    this._told = OTHER;
    this._select.addEventListener("change", () => {
      send({ type: "choose", name: this._select.value });
      this._select.value = this._told; // until the scene comes, which may fail to load
      this._select.blur();
    });
  }

  /** @param {import("./protocol.js").Scene} scene */
  load({ name, choices, chosen }) {
    byId("scene-section").hidden = !choices.length;
    const groups = new Map();
    for (const [group, choice] of choices) {
      if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
      groups.get(group).append(make("option", { value: choice, textContent: choice }));
    }
    this._told = chosen ?? OTHER;
    const other = chosen === null ? [make("option", { value: OTHER, textContent: name })] : [];
    this._select.replaceChildren(...other, ...groups.values());
    this._select.value = this._told;
  }

  /** @param {string|null} name What is being loaded; null for nothing. */
  showLoading(name) {
    this._select.disabled = name !== null;
    byId("scene-loading").hidden = name === null;
    byId("scene-loading").textContent = name === null ? "" : `Loading ${name} …`;
  }
}
