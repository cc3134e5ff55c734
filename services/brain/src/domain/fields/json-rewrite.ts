/** A JSON text with some members of its objects changed or left out; whatever is not touched keeps its bytes. */
import { endOfValue, JsonMembers, nextItem, skipBlanks } from '../json-text.ts';

/** A member from elsewhere, with the blanks and the comma before it. */
export interface ForeignMember {
  readonly lead: string;
  readonly text: string;
}

interface Rewriting {
  /** Of a member: another value, null = it is left out, undefined = as it is. */
  edit(place: number, members: JsonMembers): string | null | undefined;
  /** What goes behind a member; at -1 before all. */
  readonly behind?: ReadonlyMap<number, readonly ForeignMember[]>;
  /** Line ends of what is left out stay. */
  readonly keepsLines?: boolean;
}

/** A text that is copied as it is, until something differs. */
class Copy {
  readonly #text: string;
  #made = '';
  #from: number;
  /** What lies before it is as it is. */
  to: number;

  constructor(text: string, from: number) {
    this.#text = text;
    this.#from = from;
    this.to = from + 1;
  }

  /** Goes on at `next`, behind something else. */
  put(part: string, next: number): void {
    this.#made += this.#text.slice(this.#from, this.to) + part;
    this.#from = next;
    this.to = next;
  }

  upTo(end: number): string {
    return this.#made + this.#text.slice(this.#from, end);
  }
}

/** The text of the object, from its first to its last bracket. */
export function rewriteObject(members: JsonMembers, { edit, behind, keepsLines = false }: Rewriting): string {
  const { text } = members;
  const copy = new Copy(text, members.opener);
  let lines = '';
  let kept = 0;
  const putForeign = (place: number): void => {
    for (const { lead, text: member } of behind?.get(place) ?? NONE) {
      copy.put(separated(lead, kept === 0) + member, copy.to);
      kept += 1;
    }
  };
  putForeign(-1);
  for (let place = 0; place < members.count; place += 1) {
    const [keyStart, valueEnd] = [members.keyStart(place), members.valueEnd(place)];
    const edited = edit(place, members);
    if (edited === null) {
      if (keepsLines) lines += text.slice(copy.to, valueEnd).replaceAll(/[^\n]+/g, '');
      copy.put('', valueEnd);
      continue;
    }
    const isSeparated = (kept === 0) === (place === 0);
    if (!isSeparated || lines !== '') copy.put(lines + separated(text.slice(copy.to, keyStart), kept === 0), keyStart);
    lines = '';
    copy.to = edited === undefined ? valueEnd : members.valueStart(place);
    if (edited !== undefined) copy.put(edited, valueEnd);
    kept += 1;
    putForeign(place);
  }
  if (lines !== '') copy.put(lines, copy.to);
  return copy.upTo(members.end);
}

const NONE: readonly ForeignMember[] = [];

/** The first member has no comma before it, every other has one. */
function separated(lead: string, isFirst: boolean): string {
  if (isFirst) return lead.replace(',', '');
  return lead.includes(',') ? lead : `,${lead}`;
}

/** Another text for an object, or null = as it is. `place`: of the object in its list, null when it is the whole text. */
type EditObject = (members: JsonMembers, place: number | null) => string | null;

/** The object that a JSON text is, or each object of the list that it is. */
export function editObjects(text: string, edit: EditObject): string {
  const start = skipBlanks(text, text.startsWith('\uFEFF') ? 1 : 0);
  if (text.charAt(start) === '{') {
    const members = new JsonMembers(text, start);
    const edited = edit(members, null);
    return edited === null ? text : text.slice(0, start) + edited + text.slice(members.end);
  }
  if (text.charAt(start) !== '[') return text;
  const parts: string[] = [];
  let from = 0;
  visitObjects(text, start, (members, place) => {
    const edited = edit(members, place);
    if (edited === null) return;
    parts.push(text.slice(from, members.opener), edited);
    from = members.end;
  });
  return parts.length === 0 ? text : parts.join('') + text.slice(from);
}

/** Each object of the list that opens at `opener`, with its place among all items. */
export function visitObjects(text: string, opener: number, visit: (members: JsonMembers, place: number) => void): void {
  let place = 0;
  for (let at = skipBlanks(text, opener + 1); at < text.length && text.charAt(at) !== ']'; place += 1) {
    if (text.charAt(at) === '{') {
      const members = new JsonMembers(text, at);
      visit(members, place);
      at = nextItem(text, members.end);
    } else at = nextItem(text, endOfValue(text, at));
  }
}
