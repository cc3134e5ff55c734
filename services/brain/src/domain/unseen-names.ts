/** New names beside what may not be seen: whether they are taken must not show, so the rules alone decide. */
import { foldCase } from '@svc/contract/names.ts';

/**
 * Whether the name of a new file could be in the way of something below one of the `hidden` places, whatever is there:
 * some file system takes a segment of it for one of theirs, or it is a directory above one.
 */
export function couldMeetHidden(path: string, hidden: readonly string[]): boolean {
  const own = path.split('/');
  return hidden.some((place) => {
    const theirs = place.split('/');
    const at = own.findIndex((segment, index) => segment !== theirs[index]);
    if (at === -1) return theirs.length > own.length;
    const [mine, other] = [own[at], theirs[at]];
    return mine !== undefined && other !== undefined && foldCase(mine) === foldCase(other);
  });
}
