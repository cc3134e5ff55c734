/** A text as one word of a POSIX shell, and of `svc call`, where a value that begins with @ names a file. */
export function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) && !text.startsWith('@') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
