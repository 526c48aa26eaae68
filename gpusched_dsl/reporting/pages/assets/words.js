// Texts of tooltips, as elements: names come from data and are never read as HTML.
report.words = (() => {
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // A heading in bold and lines of text.
  function tip(heading, lines) {
    const box = element("div", undefined, "tip");
    box.append(element("b", heading), ...lines.filter(Boolean).map(line => element("div", line)));
    return box;
  }

  return { element, tip };
})();
