/** skill_proto_*: ways of working that agents may take up, kept in brains or shipped with the service. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { at, brainAndBranch, page, PathText, Sha256Hex } from '@svc/contract/params.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { blockedPath, checkedPath } from '../../blocked-path.ts';
import { defineTool } from '../../deps.ts';
import type { ReadRefusal } from '../../brain/open-brain.ts';
import { listFiles, readFile } from '../../operations/files.ts';
import type { AnswerOf } from '../../operations/operation.ts';
import { nextCursor } from '../../tools/results.ts';
import {
  type CallContext,
  PATH_RAISES,
  READ_RAISES,
  READ_REFUSES,
  resolveReads,
  type Target,
  type TargetWish,
} from '../../tools/target.ts';
import { BUILTIN } from '../builtin.ts';
import { descriptionOf, filesOfPrototype, FOLDER, metaOf, prototypeIn } from '../domain/prototype.ts';

const source = z.enum(['brain', 'builtin']).describe('builtin = shipped with the service.');
const where = { ...brainAndBranch, ...at };
type Wish = TargetWish & { readonly at?: string | undefined };

const FILES_AT_ONCE = 1000;

/** The names in one brain, each with the file that wins. */
async function namesIn(
  { ask, branch }: Target,
  past: string | null,
): Promise<Decision<Map<string, string>, ReadRefusal>> {
  const files = new Map<string, string>();
  let after: string | null = null;
  do {
    const place: { readonly limit: number; readonly after: string | null } = { limit: FILES_AT_ONCE, after };
    const question = { branch, category: FOLDER, at: past, ...place, withContent: false, withTitle: false };
    const answer: AnswerOf<typeof listFiles> = await ask(listFiles, question);
    if (!answer.ok) return answer;
    for (const { file, kind } of answer.value.files) {
      const name = kind === 'text' ? prototypeIn(file) : null;
      if (name !== null && (!files.has(name) || file === filesOfPrototype(name)[0])) files.set(name, file);
    }
    after = answer.value.next;
  } while (after !== null);
  return allow(files);
}

async function textAt({ ask, branch }: Target, path: string, past: string | null): Promise<string | null> {
  const answer = await ask(readFile, { branch, path, at: past });
  return answer.ok && answer.value.file === path ? answer.value.content : null;
}

interface Found {
  readonly name: string;
  /** Null = shipped with the service. */
  readonly place: { readonly target: Target; readonly file: string } | null;
}

/** By name; of two with one name the first brain's, and one of a brain before one shipped with the service. */
async function findPrototypes(
  targets: readonly Target[],
  past: string | null,
): Promise<Decision<readonly Found[], ReadRefusal>> {
  const found = new Map<string, Found>();
  for (const target of targets) {
    const names = await namesIn(target, past);
    if (!names.ok) return names;
    for (const [name, file] of names.value) if (!found.has(name)) found.set(name, { name, place: { target, file } });
  }
  for (const name of BUILTIN.keys()) if (!found.has(name)) found.set(name, { name, place: null });
  return allow(Array.from(found.values()).sort((a, b) => (a.name < b.name ? -1 : 1)));
}

/** Names and descriptions, of no more than so many. */
export async function describePrototypes(
  targets: readonly Target[],
  most: number,
): Promise<Decision<{ readonly name: string; readonly description: string }[], ReadRefusal>> {
  const found = await findPrototypes(targets, null);
  if (!found.ok) return found;
  return allow(await Promise.all(found.value.slice(0, most).map((one) => shown(one, {}))));
}

const list = defineTool({
  name: 'skill_proto_list',
  area: 'skills',
  description:
    'Lists skill prototypes: files of skills/ in the brains of the session, and those shipped with the service.',
  input: z.strictObject({ ...where, ...page }),
  output: z.strictObject({
    protos: z.array(
      z.strictObject({ name: z.string(), description: z.string(), source, brain: z.string().nullable() }),
    ),
    count: z.int().describe('On this page.'),
    ...nextCursor,
  }),
  access: 'public',
  effect: 'read',
  refuses: READ_REFUSES,
  raises: READ_RAISES,
  async handler({ limit, cursor, ...wish }, context) {
    const names = context.take(await findPrototypes(await resolveReads(context, wish), wish.at ?? null));
    const position = positionOf(limit, cursor);
    const rest = names.filter(({ name }) => position.after === null || name > position.after);
    const { items, next } = nextPage(rest, position, ({ name }) => name);
    const protos = await Promise.all(items.map((one) => shown(one, wish)));
    return { protos, count: protos.length, ...next };
  },
});

async function shown({ name, place }: Found, wish: Wish) {
  if (place === null)
    return { name, description: descriptionOf(BUILTIN.get(name) ?? ''), source: 'builtin' as const, brain: null };
  const text = await textAt(place.target, place.file, wish.at ?? null);
  return { name, description: descriptionOf(text ?? ''), source: 'brain' as const, brain: place.target.brain };
}

const load = defineTool({
  name: 'skill_proto_load',
  area: 'skills',
  description: 'Reads a skill prototype by its name; one of a brain is taken before one shipped with the service.',
  input: z.strictObject({ name: PathText.describe('Name of the prototype.'), ...where }),
  output: z.strictObject({
    name: z.string(),
    content: z.string(),
    meta: z.record(z.string(), z.unknown()).describe('Its front matter.'),
    source,
    hash: Sha256Hex,
  }),
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_PROTO_ABSENT'],
  raises: PATH_RAISES,
  example: { name: 'hand-over' },
  async handler({ name, ...wish }, context) {
    if (name.includes('/')) throw blockedPath('has directories; a prototype is called by its name alone');
    checkedPath(name);
    const view = await viewOf(context, name, wish);
    if (view !== null) {
      const { content, hash: shownHash } = context.take(view);
      return { name, content, meta: metaOf(content), source: 'brain' as const, hash: shownHash };
    }
    const content = BUILTIN.get(name);
    if (content === undefined) throw context.refuse('E_PROTO_ABSENT', { name });
    return { name, content, meta: metaOf(content), source: 'builtin' as const, hash: hash('sha256', content, 'hex') };
  },
});

/** From the top of the stack down; null = no brain has it. */
async function viewOf(context: CallContext, name: string, wish: Wish) {
  for (const { ask, branch } of await resolveReads(context, wish)) {
    for (const path of filesOfPrototype(name)) {
      const answer = await ask(readFile, { branch, path, at: wish.at ?? null });
      if (answer.ok) return answer;
      const { code, ...told } = answer;
      if (code !== 'E_FILE_ABSENT' && code !== 'E_NOT_TEXT') return { ...told, code };
    }
  }
  return null;
}

export const prototypeTools = [list, load];
