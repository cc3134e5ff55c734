/** From this length on the engine makes a part of a string a view of the whole. */
const SHORTEST_VIEW = 13;

/** The same text without a hold on the text that it was cut out of; for what is kept longer than that. */
export function ownCopy(text: string): string {
  return text.length < SHORTEST_VIEW ? text : Buffer.from(text, 'utf16le').toString('utf16le');
}
