/** Where documents lie that were learned. */

export const LEARNED_FOLDER = 'memory';

/** A key with a slash is the path itself. */
export function learnedPath(key: string): string {
  return key.includes('/') ? key : `${LEARNED_FOLDER}/${key}`;
}
