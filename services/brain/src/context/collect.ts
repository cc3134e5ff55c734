/** What a context could hold, as one caller sees it, before it is cut to a budget. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { triggerMatcher } from '../domain/island/trigger.ts';
import { findFrontMatter } from '../domain/front-matter.ts';
import { readDirty } from '../operations/branches.ts';
import { type FileView, readFile } from '../operations/files.ts';
import { readHistoryPage } from '../operations/history.ts';
import { viewLeaseOf } from '../operations/lease.ts';
import { searchStack } from '../retrieval/found.ts';
import { WORDS_ALONE } from '../retrieval/models.ts';
import { islandsOfStack } from '../tools/island-reading.ts';
import type { CallContext, Target } from '../tools/target.ts';
import type { Piece, Pieces } from './domain/assemble.ts';

/** Notes of the brain about itself, at its root, in this order. */
const CORE_NOTES = ['identity', 'goals', 'preferences', 'lessons', 'errors', 'reflection'].map((name) => `${name}.md`);
const PASSAGES = 40;
const COMMITS = 20;
const SHORT_COMMIT = 7;

export interface Wanted {
  readonly target: Target;
  readonly query: string | null;
  /** Names and descriptions; null = none are told. */
  readonly tools: readonly { readonly name: string; readonly description: string }[] | null;
}

type Found<Value> = Promise<Decision<Value, ReadRefusal>>;

export async function collectPieces(context: CallContext, { target, query, tools }: Wanted): Found<Pieces> {
  const notes = await piecesOfFiles(target, CORE_NOTES);
  if (!notes.ok) return notes;
  const islands = await islandPieces(context, target, query);
  if (!islands.ok) return islands;
  const history = await readCommits(target);
  if (!history.ok) return history;
  const told = new Set([...notes.value, ...islands.value].flatMap(({ source }) => source?.file ?? []));
  const knowledge = await (query === null
    ? piecesOfFiles(
        target,
        history.value.files.filter((file) => !told.has(file)),
      )
    : foundPieces(target, query, told));
  if (!knowledge.ok) return knowledge;
  const dynamic = await statePieces(target);
  if (!dynamic.ok) return dynamic;
  const { lines } = history.value;
  return allow({
    static: notes.value,
    tools:
      tools === null
        ? []
        : [
            note(
              'Tools',
              tools.map(({ name, description }) => `- ${name}: ${description}`),
            ),
          ],
    islands: islands.value,
    knowledge: knowledge.value,
    history: lines.length === 0 ? [] : [note('Commits, newest first', lines)],
    dynamic: dynamic.value,
  });
}

function note(title: string, lines: readonly string[]): Piece {
  return { title, text: lines.join('\n'), source: null };
}

/** Of those that are there, may be read and are text. */
async function piecesOfFiles({ ask, branch }: Target, files: readonly string[]): Found<Piece[]> {
  const pieces: Piece[] = [];
  for (const path of files) {
    const answer = await ask(readFile, { branch, path, at: null });
    if (answer.ok) pieces.push(pieceOf(answer.value));
    else if (answer.code === 'E_BRANCH_ABSENT' || answer.code === 'E_REF_ABSENT')
      return deny(answer.code, answer.details);
  }
  return allow(pieces);
}

/** A file from its body on. */
function pieceOf({ file, content, commit, hash }: FileView): Piece {
  const body = file.endsWith('.md') ? (findFrontMatter(content)?.body ?? 0) : 0;
  const blank = /^\s*/.exec(content.slice(body))?.[0].length ?? 0;
  const from = body + blank;
  const line = content.slice(0, from).split('\n').length;
  return { title: file, text: content.slice(from), source: { file, line, commit, hash } };
}

/** Islands that are switched on and that the query calls up, or that are always told. */
async function islandPieces(context: CallContext, target: Target, query: string | null): Found<Piece[]> {
  const { brain, branch } = target;
  const all = await islandsOfStack(context, { brain, branch }, null);
  if (!all.ok) return all;
  const matching = triggerMatcher(query ?? '');
  const called = all.value.filter(
    ({ island }) => island.enabled && (island.always || (query !== null && matching(island.triggers).length > 0)),
  );
  return piecesOfFiles(
    target,
    called.map(({ island }) => island.file),
  );
}

async function foundPieces(target: Target, query: string, told: ReadonlySet<string>): Found<Piece[]> {
  const request = {
    query,
    mode: 'hybrid',
    limit: PASSAGES,
    group: 'passage',
    pathPrefix: null,
    explain: false,
    // What a model answers may change while the brain does not; the text of a context may not.
    models: WORDS_ALONE,
  } as const;
  const found = await searchStack([target], request);
  if (!found.ok) return found;
  return allow(
    found.value.rows.flatMap(({ file, content, lines: [line], commit, hash }) =>
      told.has(file) ? [] : [{ title: file, text: content, source: { file, line, commit, hash } }],
    ),
  );
}

interface Commits {
  readonly lines: string[];
  /** That they touched, those of the newest commit first. */
  readonly files: string[];
}

async function readCommits({ ask, branch }: Target): Found<Commits> {
  const answer = await ask(readHistoryPage, { branch, path: null, at: null, start: 0, limit: COMMITS });
  if (!answer.ok) return answer;
  const { rows } = answer.value;
  const lines = rows.map(({ commit, author, message }) => {
    const [subject = ''] = message.split('\n', 1);
    return `- ${commit.slice(0, SHORT_COMMIT)} ${subject} (${author})`;
  });
  return allow({ lines, files: [...new Set(rows.flatMap(({ files }) => files.map(({ file }) => file)))] });
}

async function statePieces({ ask, branch }: Target): Found<Piece[]> {
  const dirty = await ask(readDirty, { branch });
  if (!dirty.ok) return dirty;
  const lease = await ask(viewLeaseOf, {});
  const { files, count } = dirty.value;
  const more = count > files.length ? [`- and ${count - files.length} more`] : [];
  const changes = [...files.map(({ file, change }) => `- ${change} ${file}`), ...more];
  return allow([
    ...(changes.length === 0 ? [] : [note('Uncommitted files', changes)]),
    ...(lease.agentId === null ? [] : [note('Lease', [`The brain is held by ${lease.agentId}.`])]),
  ]);
}
