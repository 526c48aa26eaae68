// Keys of a chart that has the focus: arrows move, + and - zoom, 0 shows everything.
report.keyboard = (() => {
  const STEP = 0.2; // of the view
  const ZOOM = 0.7;

  function actions(view, moveRows) {
    const page = sign => moveRows && (() => moveRows(sign));
    return {
      ArrowLeft: () => view.pan(-STEP), ArrowRight: () => view.pan(STEP),
      ArrowUp: moveRows && (() => moveRows(-STEP)), ArrowDown: moveRows && (() => moveRows(STEP)),
      PageUp: page(-1), PageDown: page(1),
      "+": () => view.zoom(ZOOM), "=": () => view.zoom(ZOOM), "-": () => view.zoom(1 / ZOOM),
      0: () => view.reset(), Home: () => view.reset(),
    };
  }

  function listen(box, view, moveRows) {
    const known = actions(view, moveRows);
    box.addEventListener("keydown", event => {
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : known[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  return { listen, actions };
})();
