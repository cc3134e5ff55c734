/** JSON as it is shown and as it is indexed. */
import { MASKED } from '@svc/contract/transform.ts';
import { JsonMembers } from '../json-text.ts';
import { fatesOf, type HidingLevel } from './json-fates.ts';
import { editObjects, rewriteObject } from './json-rewrite.ts';

/** A masked value as it stands in a text. */
export const MASKED_TEXT = JSON.stringify(MASKED);

/** The text of the object without what is hidden; null when it is shown as it is. Recurses along hidden paths alone. */
function shownObject(members: JsonMembers, level: HidingLevel): string | null {
  const fates = fatesOf(members, level);
  if (fates === null) return null;
  return rewriteObject(members, {
    edit(place) {
      const fate = fates.hidden[place];
      if (fate === undefined) return undefined;
      if (fate === 'masked') return MASKED_TEXT;
      if (fate !== 'inside') return null;
      const inner = fates.counting.find((one) => one.place === place)?.level;
      if (inner == null) return null;
      return shownObject(new JsonMembers(members.text, members.valueStart(place)), inner) ?? undefined;
    },
  });
}

export function shownObjects(text: string, level: HidingLevel): string {
  return editObjects(text, (members) => shownObject(members, level));
}

/** Without masked members, each of the rest on its line. */
export function withoutMasked(text: string): string {
  const edit = (place: number, members: JsonMembers): null | undefined => (isMasked(members, place) ? null : undefined);
  return editObjects(text, (members) => {
    for (let place = 0; place < members.count; place += 1) {
      if (isMasked(members, place)) return rewriteObject(members, { edit, keepsLines: true });
    }
    return null;
  });
}

function isMasked(members: JsonMembers, place: number): boolean {
  const [start, end] = [members.valueStart(place), members.valueEnd(place)];
  return members.text.charAt(start) === '"' && members.textAt(start, end) === MASKED;
}

/** The value of the member that counts of that name, of a text that is an object with one. */
export function memberText(text: string, name: string): string {
  const members = new JsonMembers(text, text.indexOf('{'));
  const place = members.lastOf(name);
  if (place === null) throw new Error('the object has no such member');
  return members.valueText(place);
}

/** The value of the member that counts of that name, edited; a text without one as it is. */
export function editMember(text: string, name: string, edit: (value: string) => string): string {
  return editObjects(text, (members, index) => {
    const last = index === null ? members.lastOf(name) : null;
    if (last === null) return null;
    const value = edit(members.valueText(last));
    return rewriteObject(members, {
      edit: (place) => (place === last ? value : members.name(place) === name ? null : undefined),
    });
  });
}
