/** What of the notes about a brain its owner decides: which commits are meant, and what may be told to whom. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { resolveCommit } from '../git/refs.ts';
import { decision, defineOperation, list, noteDenial, page, type Served } from '../operations/operation.ts';
import type { CommitNames } from '../rules/commit-handles.ts';
import { Slices } from '../thread/slices.ts';
import { readCitations, readLatest } from './citation-rows.ts';
import { Citation, citedWish, decideCited } from './domain/citation.ts';
import { filesMeant, Resolution, spellingsOf } from './domain/resolution.ts';
import { readResolutions, readSubjects, type ResolutionWish } from './resolution-rows.ts';

function placeOf({ brain: { context } }: Pick<Served, 'brain'>): { client: SqlClient; brainId: string } {
  return { client: poolClient(context.platform.database.pool), brainId: context.homes.home.id };
}

/** For who may change the brain: which brain it is, and which of its commits the text names. */
export const identifyCommit = defineOperation({
  name: 'identifyCommit',
  effect: 'read',
  needs: 'change',
  namesCommits: false,
  question: z.strictObject({ text: z.string() }),
  /** `commit` as it is stored, `shown` as the asker knows it; both are the text when it names none. */
  answer: z.strictObject({ id: z.string(), commit: z.string(), shown: z.string(), verified: z.boolean() }),
  async run({ brain, rows }, { text }) {
    const names = await brain.namesFor(rows);
    const found = await resolveCommit(brain.context.repository, text, names);
    const { id } = brain.context.homes.home;
    if (found === null) return { id, commit: text, shown: text, verified: false };
    return { id, commit: found, shown: names.shown(found), verified: true };
  },
});

function shownTo(names: CommitNames, { commit, verified, context, ...rest }: Citation): Citation {
  return { ...rest, verified, commit: verified ? names.shown(commit) : commit, context: names.shownText(context) };
}

export const listCitations = defineOperation({
  name: 'listCitations',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject(page),
  /** One more than the limit when there are more. */
  answer: list(Citation),
  async run(served, position) {
    const { client, brainId } = placeOf(served);
    const names = await served.brain.namesFor(served.rows);
    return (await readCitations(client, brainId, position)).map((row) => shownTo(names, row));
  },
});

/** The last citation of the one cited commit that the text means; null when none is. */
export const findCitation = defineOperation({
  name: 'findCitation',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ text: z.string() }),
  answer: decision(Citation.nullable(), ['E_REF_AMBIGUOUS']),
  async run(served, { text }) {
    const { client, brainId } = placeOf(served);
    const names = await served.brain.namesFor(served.rows);
    const wish = citedWish(text, names.readings);
    const cited = decideCited(await readLatest(client, brainId, wish), text);
    return cited.ok && cited.value !== null ? allow(shownTo(names, cited.value)) : cited;
  },
});

/** For who may write the file that the text means, or, when it means none, what belongs to the brain as a whole. */
export const identifySubject = defineOperation({
  name: 'identifySubject',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ file: z.string() }),
  /** `resources`: whose readers may be told of it. */
  answer: z.strictObject({ id: z.string(), resources: list(z.string()) }),
  async run(served, { file }) {
    const { brain, rows } = served;
    const files = filesMeant(file);
    const denied = rows.mayChange ? files.find((path) => !rows.mayWrite(path)) : '';
    if (denied !== undefined) {
      noteDenial(served, denied, 'write');
      throw new CallError('RLS_DENIED');
    }
    const { context } = brain;
    const resources = files.flatMap((path) => eventResources(context, path));
    return { id: context.homes.home.id, resources: [...new Set([`brain:${context.name}`, ...resources])] };
  },
});

export const listResolutions = defineOperation({
  name: 'listResolutions',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({
    file: z.string().nullable(),
    branch: z.string().nullable(),
    /** Absent: a process of the version before asks, which does not know whose the caller is. */
    workspaces: list(z.string()).nullable().default([]),
    ...page,
  }),
  /** One more than the limit when there are more. */
  answer: list(Resolution),
  async run(served, { file, branch, workspaces, after, limit }) {
    const { client, brainId } = placeOf(served);
    const wish = { files: file === null ? null : spellingsOf(file), branch, workspaces };
    const ids = await readableIds(served, wish, { after, limit: limit + 1 });
    const names = await served.brain.namesFor(served.rows);
    const rows = ids.length === 0 ? [] : await readResolutions(client, brainId, ids);
    return rows.map((row) => ({ ...row, change: names.shownText(row.change) }));
  },
});

/** Read at once of the rows that may turn out to be hidden. */
const LOOKED_AT = 2000;

/** Those about files that may be read, and about what is no file. */
async function readableIds(
  served: Served,
  wish: ResolutionWish,
  position: { readonly after: string | null; readonly limit: number },
): Promise<string[]> {
  const { client, brainId } = placeOf(served);
  const { isUnruled, mayRead } = served.rows;
  const isReadable = (file: string): boolean => isUnruled || filesMeant(file).every((path) => mayRead(path));
  const found: string[] = [];
  const slices = new Slices();
  let { after } = position;
  for (;;) {
    const limit = isUnruled ? position.limit : LOOKED_AT;
    const rows = await readSubjects(client, brainId, wish, { after, limit });
    for (const { id, file } of rows) {
      if (slices.isOver) await slices.pause();
      if (isReadable(file)) found.push(id);
      if (found.length === position.limit) return found;
    }
    if (rows.length < limit) return found;
    after = rows.at(-1)?.id ?? null;
  }
}
