/** Islands: read as one caller sees them; made, amended and removed, each call in one step of the branch's writer. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { describeIsland, IslandPage, IslandRow, LoadedIsland } from '../brain/islands.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import {
  Amendment,
  amendIsland as amendText,
  fileOf,
  IslandContent,
  IslandDefinition,
  islandFiles,
  renderIsland,
} from '../domain/island/island.ts';
import { eventResources } from '../domain/resource-keys.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import type { Staging } from '../writer/staging.ts';
import { decision, defineOperation, list, onBranch, once } from './operation.ts';
import { inStep, STEP_REFUSALS, type Write } from './step.ts';

/** Definitions of the islands after the name `after`, a page at a time. */
export const listIslands = defineOperation({
  name: 'islands',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, after: z.string().nullable() }),
  answer: decision(IslandPage, READ_REFUSALS),
  async run({ brain, rows }, { branch, after }) {
    const found = await brain.view(branch, null);
    return found.ok ? allow(await brain.islands.list({ branch, view: found.value, rows }, after)) : found;
  },
});

/** Null when there is none that may be read; `append` = with the files of its sources. */
export const readIsland = defineOperation({
  name: 'island',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, name: z.string(), append: z.boolean() }),
  answer: decision(LoadedIsland.nullable(), READ_REFUSALS),
  async run({ brain, rows }, { branch, name, append }) {
    const found = await brain.view(branch, null);
    return found.ok ? allow(await brain.islands.read({ branch, view: found.value, rows }, name, append)) : found;
  },
});

const NewIsland = z.strictObject({ name: z.string(), definition: IslandDefinition, content: IslandContent });
export type NewIsland = Readonly<z.output<typeof NewIsland>>;

const MadeIsland = z.strictObject({ name: z.string(), file: z.string(), hash: z.string() });
type MadeIsland = z.output<typeof MadeIsland>;

type FileRefusal = 'E_CONFLICT' | 'E_QUOTA';

/** All of them or none. A denial names each island that is in the way. */
export const createIslands = defineOperation({
  name: 'createIslands',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, islands: list(NewIsland) }),
  answer: once(list(MadeIsland), [...STEP_REFUSALS, 'E_CONFLICT', 'E_QUOTA', 'E_ISLAND_EXISTS']),
  run: (served, { branch, islands }) => {
    const write = { ...served, branch };
    return inStep(write, (staging, writer) => makeIslands(write, staging, writer, islands));
  },
});

function makeIslands(
  write: Write,
  staging: Staging,
  { tree }: BranchWriter,
  islands: readonly NewIsland[],
): Decision<Step<readonly MadeIsland[]>, FileRefusal | 'E_ISLAND_EXISTS'> {
  const made: MadeIsland[] = [];
  const failed: { name: string; created: false; code: FileRefusal | 'E_ISLAND_EXISTS' }[] = [];
  const taken = new Set<string>();
  for (const island of islands) {
    assertWritable(write, fileOf(island.name, island.content.kind));
    // One that may not be read is written over like any other file: a refusal would tell that it is there.
    const isSeen = (path: string): boolean => write.rows.mayRead(path) && tree.refresh(path) !== null;
    const isThere = taken.has(island.name) || islandFiles(island.name).some(isSeen);
    const decision = isThere ? deny('E_ISLAND_EXISTS') : makeIsland(write, staging, island);
    taken.add(island.name);
    if (decision.ok) made.push(decision.value);
    else failed.push({ name: island.name, created: false, code: decision.code });
  }
  const [first] = failed;
  if (first !== undefined) return deny(first.code, { results: failed });
  return allow({ value: made, events: made.map(({ name, file }) => told(write, 'island:created', name, file)) });
}

/** Before anything is said about what is there. */
function assertWritable({ rows }: Write, path: string): void {
  const denial = rows.writeDenial(path);
  if (denial !== null) throw new CallError(denial);
}

function makeIsland(
  { context, rows }: Write,
  staging: Staging,
  { name, definition, content }: NewIsland,
): Decision<MadeIsland, FileRefusal> {
  const path = fileOf(name, content.kind);
  const bytes = Buffer.from(renderIsland(definition, content), 'utf8');
  const outcome = staging.judge({ path, content: bytes, ifMatch: 'none', rows }, context);
  return outcome.ok ? allow({ name, file: path, hash: outcome.value.hash }) : outcome;
}

/** The files of an island that the caller may see, each of which it may also write. */
function visibleFiles(write: Write, { tree }: BranchWriter, name: string): string[] {
  const files = islandFiles(name);
  const visible = files.filter((path) => write.rows.mayRead(path) && tree.refresh(path) !== null);
  for (const path of visible.length === 0 ? files : visible) assertWritable(write, path);
  return visible;
}

const AmendQuestion = z.strictObject({
  ...onBranch,
  name: z.string(),
  amendment: Amendment,
  /** Hash of the island's file as it is shown; null = whatever it is. */
  ifMatch: z.string().nullable(),
});
type AmendQuestion = z.output<typeof AmendQuestion>;

export const amendIsland = defineOperation({
  name: 'amendIsland',
  effect: 'write',
  namesCommits: false,
  question: AmendQuestion,
  answer: once(z.strictObject({ island: IslandRow, changed: z.boolean() }), [
    ...STEP_REFUSALS,
    'E_CONFLICT',
    'E_QUOTA',
    'E_ISLAND_ABSENT',
    'E_ISLAND_INVALID',
  ]),
  run: (served, { branch, ...wish }) => {
    const write = { ...served, branch };
    return inStep(write, (staging, writer) => amendStaged(write, writer, staging, wish));
  },
});

function amendStaged(
  write: Write,
  writer: BranchWriter,
  staging: Staging,
  { name, amendment, ifMatch }: Omit<AmendQuestion, 'branch'>,
): Decision<Step<{ island: IslandRow; changed: boolean }>, FileRefusal | 'E_ISLAND_ABSENT' | 'E_ISLAND_INVALID'> {
  const [path] = visibleFiles(write, writer, name);
  if (path === undefined) return deny('E_ISLAND_ABSENT', { name });
  const amended = amendedText(path, writer.tree.read(path)?.text ?? null, amendment);
  if (!amended.ok) return deny(amended.code, { name });
  const { rows, context } = write;
  const content = Buffer.from(amended.value, 'utf8');
  const outcome = staging.judge({ path, content, ifMatch, rows }, context);
  if (!outcome.ok) return outcome;
  const { changed, hash } = outcome.value;
  const after = describeIsland(path, amended.value);
  if (after === null) throw new Error('an island lost its name');
  return allow({
    value: { island: { ...after, file: path, hash }, changed },
    events: changed ? [told(write, 'island:updated', name, path)] : [],
  });
}

function amendedText(path: string, text: string | null, amendment: Amendment): Decision<string, 'E_ISLAND_INVALID'> {
  const island = describeIsland(path, text);
  return island === null || text === null ? deny('E_ISLAND_INVALID') : amendText(island, text, amendment);
}

/** With every file that carries its name. */
export const removeIsland = defineOperation({
  name: 'removeIsland',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, name: z.string() }),
  answer: once(z.strictObject({ name: z.string() }), [...STEP_REFUSALS, 'E_CONFLICT', 'E_ISLAND_ABSENT']),
  run: (served, { branch, name }) => {
    const write = { ...served, branch };
    return inStep(write, (staging, writer) => {
      const files = visibleFiles(write, writer, name);
      const [first] = files;
      if (first === undefined) return deny('E_ISLAND_ABSENT', { name });
      for (const path of files) {
        const outcome = staging.judge({ path, content: null, ifMatch: null, rows: write.rows }, write.context);
        // Somebody has taken the file away since it was seen.
        if (!outcome.ok) {
          const { code, details, message } = outcome;
          return code === 'E_CONFLICT' ? deny(code, details, message) : deny('E_ISLAND_ABSENT', { name });
        }
      }
      return allow({ value: { name }, events: [told(write, 'island:deleted', name, first)] });
    });
  },
});

type IslandEvent = 'island:created' | 'island:updated' | 'island:deleted';

function told({ brain, branch, context }: Write, event: IslandEvent, island: string, file: string): NewEvent {
  const resources = eventResources(brain.context, file);
  return {
    name: event,
    payload: { island, brain: brain.context.name, branch, by: context.actor, resources },
  };
}
