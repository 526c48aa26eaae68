// Jobs whose names contain a text: equal names first, then names that begin with it; capitals do not matter.
report.jobSearch = (() => {
  function find(names, text) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return [];
    const groups = [[], [], []];
    names.forEach((name, job) => {
      const lower = name.toLowerCase();
      if (lower === wanted) groups[0].push(job);
      else if (lower.startsWith(wanted)) groups[1].push(job);
      else if (lower.includes(wanted)) groups[2].push(job);
    });
    return groups.flat();
  }

  return { find };
})();
