/** The names that a misspelt one most likely meant, best first. */
export function nearestNames(wanted: string, known: Iterable<string>, limit = 3): string[] {
  const ranked: { name: string; distance: number }[] = [];
  const needle = wanted.slice(0, 100).toLowerCase();
  for (const name of known) ranked.push({ name, distance: editDistance(needle, name.toLowerCase()) });
  ranked.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return ranked.slice(0, limit).map(({ name }) => name);
}

/** Whether one may be the other misspelt or cut short. */
export function isAlike(wanted: string, name: string): boolean {
  const [one, other] = [wanted.slice(0, 100).toLowerCase(), name.toLowerCase()];
  return (
    one.includes(other) || other.includes(one) || editDistance(one, other) * 3 <= Math.max(one.length, other.length)
  );
}

/** Levenshtein distance with two rows. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
