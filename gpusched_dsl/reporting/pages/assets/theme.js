// Light and dark colours: those of the system, or the reader's choice. Charts are told about a change.
report.theme = (() => {
  const listeners = [];
  const system = () => window.matchMedia("(prefers-color-scheme: dark)");

  // Of jobs: they only tell neighbours apart, so they repeat. All are light enough for dark labels.
  const jobColours = ["#9ec5f8", "#f6c177", "#a3dca8", "#d6b8f5", "#f4b6c2", "#8fd6d6", "#dcd08a", "#c3c8d4"];

  // The colour of a variable of the style sheet.
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function apply() {
    const choice = document.getElementById("theme").value;
    const dark = choice ? choice === "dark" : system().matches;
    document.documentElement.classList.toggle("dark", dark);
    for (const listener of listeners) listener();
  }

  function start() {
    document.getElementById("theme").addEventListener("change", apply);
    system().addEventListener("change", apply);
    apply();
  }

  // The colour between two of the form #rrggbb; share 0 is the first.
  function between(from, to, share) {
    const part = (hex, at) => parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
    const mixed = [0, 1, 2].map(at => Math.round(part(from, at) + share * (part(to, at) - part(from, at))));
    return `#${mixed.map(value => value.toString(16).padStart(2, "0")).join("")}`;
  }

  return { start, colour, jobColours, between, listen: listener => listeners.push(listener) };
})();
