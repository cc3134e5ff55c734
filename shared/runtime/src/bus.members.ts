/**
 * The processes that answer on a bus, by what they say of themselves: which of them live, and what each answers. A queue
 * group alone goes on handing work to a process that stands still, because its connection stays open.
 */
import { z } from 'zod';
import { matchesPattern } from './bus-subject.ts';

/** Each process says this often that its event loop runs. */
export const BEAT_EVERY_MS = 500;
/** Whoever missed so many beats gets no more work, and what it has in hand is sent elsewhere where that does no harm. */
const SILENT_AFTER_BEATS = 4;
/** A process that was silent for longer may have been given up by others, who count their own beats. */
export const GIVEN_UP_AFTER_MS = (SILENT_AFTER_BEATS - 1) * BEAT_EVERY_MS;
/** Whoever missed so many is not waited for at all, although nobody knows what became of its work: it might only be slow. */
const LOST_AFTER_BEATS = 20;
export const LOST_AFTER_MS = (LOST_AFTER_BEATS - 1) * BEAT_EVERY_MS;
const FORGOTTEN_AFTER_BEATS = 120;
/** Subjects whose members are remembered; beyond it the memory starts anew. */
const MAX_ROUTES = 10_000;

export const ALL_BEATS = 'alive.*';
export const beatSubject = (group: string): string => `alive.${group}`;

/** One process of the group that shares the work of a service. Neither name has a dot. */
export interface Member {
  readonly group: string;
  readonly process: string;
}

/** `patterns`: subjects on which it answers for its group; none = it is going away. */
export interface Beat extends Member {
  readonly patterns: readonly string[];
}

/** Where one process hears what is meant for it alone. */
export function addressOfMember({ group, process }: Member): string {
  return `to.${group}.${process}.`;
}

/** Every subject names the service that answers it, so nobody draws the questions of another to itself. */
function isOwn(pattern: string, group: string): boolean {
  return pattern.split('.').includes(group);
}

/** What was asked; null when it was not addressed to one process. */
export function withoutAddress(subject: string): string | null {
  return /^to\.[^.]+\.[^.]+\.(.+)$/.exec(subject)?.[1] ?? null;
}

interface Known extends Beat {
  readonly text: string;
  missed: number;
  /** It said, or the server did, that nobody answers there; holds until its next beat. */
  declined: boolean;
}

interface Route {
  readonly members: readonly Known[];
  turn: number;
}

/** Processes that have just become so. */
interface Lapses {
  readonly silent: readonly string[];
  readonly lost: readonly string[];
}

export class Members {
  readonly #known = new Map<string, Known>();
  /** A process says nearly always the same. */
  readonly #byText = new Map<string, Known>();
  readonly #routes = new Map<string, Route>();
  readonly #unaddressable = new Set<string>();

  /** What came on `subject`, on which the server lets that group alone speak. */
  heard(text: string, subject: string): void {
    const same = this.#byText.get(text);
    if (same !== undefined && beatSubject(same.group) === subject) {
      same.missed = 0;
      same.declined = false;
      return;
    }
    const beat = beatIn(text);
    if (beat === null || beatSubject(beat.group) !== subject) return;
    const { group, process } = beat;
    const patterns = beat.patterns.filter((pattern) => isOwn(pattern, group));
    const before = this.#known.get(process);
    if (before !== undefined && before.group !== group) return;
    this.#forget(process);
    if (patterns.length === 0) return;
    const member: Known = { group, process, patterns, text, missed: 0, declined: false };
    this.#known.set(process, member);
    this.#byText.set(text, member);
  }

  /** Once every BEAT_EVERY_MS. Counting one's own turns, and not time, nobody is given up by a process that itself stood still. */
  tick(): Lapses {
    const silent: string[] = [];
    const lost: string[] = [];
    for (const member of this.#known.values()) {
      member.missed += 1;
      if (member.missed === SILENT_AFTER_BEATS) silent.push(member.process);
      if (member.missed === LOST_AFTER_BEATS) lost.push(member.process);
      if (member.missed >= FORGOTTEN_AFTER_BEATS) this.#forget(member.process);
    }
    return { silent, lost };
  }

  /** A living process that answers there, each in turn; null = none is known. */
  choose(subject: string): Member | null {
    const route = this.#routeFor(subject);
    for (let tried = 0; tried < route.members.length; tried += 1) {
      route.turn = (route.turn + 1) % route.members.length;
      const member = route.members[route.turn];
      if (member !== undefined && !member.declined && member.missed < SILENT_AFTER_BEATS) return member;
    }
    return null;
  }

  /** It was asked, and nobody was there. */
  declined(process: string): void {
    const member = this.#known.get(process);
    if (member === undefined) return;
    member.declined = true;
    member.missed = Math.max(member.missed, SILENT_AFTER_BEATS - 1);
  }

  /** The server does not let this process address anybody there. */
  neverAddress(subject: string): void {
    this.#unaddressable.add(subject);
    this.#routes.delete(subject);
  }

  #forget(process: string): void {
    const member = this.#known.get(process);
    if (member !== undefined) this.#byText.delete(member.text);
    this.#known.delete(process);
    this.#routes.clear();
  }

  #routeFor(subject: string): Route {
    const known = this.#routes.get(subject);
    if (known !== undefined) return known;
    const answers = ({ patterns }: Known): boolean => patterns.some((pattern) => matchesPattern(pattern, subject));
    const members = this.#unaddressable.has(subject) ? [] : [...this.#known.values()].filter(answers);
    const route: Route = { members, turn: 0 };
    if (this.#routes.size >= MAX_ROUTES) this.#routes.clear();
    this.#routes.set(subject, route);
    return route;
  }
}

const BeatText = z.object({
  group: z.string().regex(/^[^.]+$/),
  process: z.string().regex(/^[^.]+$/),
  patterns: z.array(z.string()),
});

/** Null for what is none. */
function beatIn(text: string): Beat | null {
  try {
    return BeatText.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
