/** The text of a variable: its own, or that of the file which `<name>_FILE` names. Empty counts as absent. */
export function rawValue(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
  problems: string[],
): string | undefined {
  const direct = environment[name];
  if (direct !== undefined && direct !== '') return direct;
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    const value = readFile(file).trim();
    return value === '' ? undefined : value;
  } catch {
    problems.push(`${name}_FILE: cannot be read`);
    return undefined;
  }
}
