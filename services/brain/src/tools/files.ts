/** The brain_* file tools: a file is addressed by its path in the brain. */
import { z } from 'zod';
import { REFUSALS, type RefusalCode } from '@svc/contract/codes.ts';
import { type Decision, deny, neverDenied } from '@svc/contract/decision.ts';
import {
  CommitId,
  at,
  brainAndBranch,
  FileContent,
  ifMatch,
  leaseGuard,
  PathText,
  Sha256Hex,
  TimestampMs,
} from '@svc/contract/params.ts';
import { hasExtension } from '@svc/contract/names.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { checkedPath } from '../blocked-path.ts';
import { defineTool } from '../deps.ts';
import { MAX_YAML_LENGTH, readYaml } from '../domain/yaml-document.ts';
import { commit } from '../operations/commit.ts';
import { changeFile } from '../operations/files.ts';
import { readFile } from './reading.ts';
import {
  COMMIT_REFUSES,
  PATH_RAISES,
  READ_REFUSES,
  resolveWrite,
  settled,
  WRITE_RAISES,
  WRITE_REFUSES,
} from './target.ts';
import { secondStep } from '../writer/context.ts';

const name = { name: PathText.describe('Path of the file; without an extension, .md is meant.') };
const nameAlias = { file: 'name' };

const readResult = z.strictObject({
  name: z.string(),
  file: z.string(),
  content: z.string(),
  data: z.string().describe('The same text.'),
  format: z.string().describe('Extension of the file.'),
  bytes: z.int(),
  hash: Sha256Hex,
  brain: z.string(),
  branch: z.string(),
  dirty: z.boolean(),
  modifiedAt: TimestampMs.nullable(),
});

const readShape = {
  area: 'brain',
  input: z.strictObject({ ...name, ...brainAndBranch, ...at }),
  output: readResult,
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_FILE_ABSENT', 'E_NOT_TEXT'],
  raises: PATH_RAISES,
  aliases: nameAlias,
} as const;

type ReadArguments = z.output<(typeof readShape)['input']>;

async function readNamed({ name: wanted, ...wish }: ReadArguments, context: Parameters<typeof readFile>[0]) {
  return readFile(context, checkedPath(wanted), wish);
}

function shownFile(
  name: string,
  { view, brain }: Extract<Awaited<ReturnType<typeof readNamed>>, { ok: true }>['value'],
) {
  const { file, content, bytes, hash, branch, dirty, modifiedAt } = view;
  const format = hasExtension(file) ? file.slice(file.lastIndexOf('.') + 1) : '';
  return { name, file, content, data: content, format, bytes, hash, brain, branch, dirty, modifiedAt };
}

const brainRead = defineTool({
  ...readShape,
  name: 'brain_read',
  description: 'Reads a file by its path.',
  example: { name: 'learnings/first' },
  handler: async (input, context) => shownFile(input.name, context.take(await readNamed(input, context))),
});

const getFile = defineTool({
  ...readShape,
  name: 'brain_get_file',
  description: 'Reads a file by its path; the same as brain_read.',
  handler: async (input, context) => shownFile(input.name, context.take(await readNamed(input, context))),
});

const FORMATS = ['md', 'json', 'yaml', 'txt'] as const;

const writeResult = {
  saved: z.literal(true),
  name: z.string(),
  file: z.string(),
  hash: Sha256Hex,
  bytes: z.int(),
  changed: z.boolean(),
  created: z.boolean(),
  brain: z.string(),
  branch: z.string(),
};

const brainWrite = defineTool({
  name: 'brain_write',
  area: 'brain',
  description: 'Writes a file by its path; JSON and YAML must parse when the format says so.',
  input: z.strictObject({
    ...name,
    content: FileContent,
    format: z.enum(FORMATS).optional().describe('Extension of a name without one, and what the content must be.'),
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject(writeResult),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [...WRITE_REFUSES, 'E_CONFLICT'],
  raises: WRITE_RAISES,
  aliases: nameAlias,
  example: { name: 'facts/answer', content: '{"answer": 42}', format: 'json' },
  async handler({ name: wanted, content, format, ...wish }, context) {
    if (format !== undefined) checkFormat(content, format);
    const path = checkedPath(format === undefined || hasExtension(wanted) ? wanted : `${wanted}.${format}`);
    const { ask, brain, branch } = await resolveWrite(context, wish);
    const change = { branch, path, content, ifMatch: wish.ifMatch ?? null };
    const { file, ...written } = context.take(
      neverDenied(settled(context, await ask(changeFile, change)), 'E_FILE_ABSENT'),
    );
    return { saved: true as const, name: file, file, ...written, brain, branch };
  },
});

function checkFormat(content: string, format: (typeof FORMATS)[number]): void {
  if (format === 'yaml' && content.length > MAX_YAML_LENGTH) {
    const message = `is too long to be checked: at most ${MAX_YAML_LENGTH} characters; leave format out and name the file .yaml`;
    throw invalidArguments([{ path: 'content', message }]);
  }
  if ((format === 'json' && !isJson(content)) || (format === 'yaml' && readYaml(content) === null))
    throw invalidArguments([{ path: 'content', message: `is not ${format}` }]);
}

function isJson(content: string): boolean {
  try {
    JSON.parse(content);
    return true;
  } catch {
    return false;
  }
}

const brainSave = defineTool({
  name: 'brain_save',
  area: 'brain',
  description: 'Writes a file and commits it; without name and content, commits every uncommitted file.',
  input: z.strictObject({
    name: name.name.optional(),
    content: FileContent.optional(),
    message: z.string().min(1).max(10_000).optional().describe('Commit message.'),
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.strictObject({
    saved: z.literal(true),
    name: z.string().nullable(),
    hash: Sha256Hex.nullable(),
    committed: z.boolean(),
    commit: CommitId,
    files: z.int(),
    brain: z.string(),
    branch: z.string(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...WRITE_REFUSES, 'E_CONFLICT'],
  raises: WRITE_RAISES,
  aliases: nameAlias,
  async handler({ name: wanted, content, message, ...wish }, context) {
    if ((wanted === undefined) !== (content === undefined)) {
      throw invalidArguments([
        { path: wanted === undefined ? 'name' : 'content', message: 'goes with the other of name and content' },
      ]);
    }
    const { ask, op, brain, branch } = await resolveWrite(context, wish);
    let written: { file: string | null; hash: string | null } = { file: null, hash: null };
    if (wanted !== undefined && content !== undefined) {
      const change = { branch, path: checkedPath(wanted), content, ifMatch: wish.ifMatch ?? null };
      written = context.take(neverDenied(settled(context, await ask(changeFile, change)), 'E_FILE_ABSENT'));
    }
    const { file, hash } = written;
    const then = context.deps.router.brain(brain, secondStep(op, 'commit'));
    const saving = { branch, message: message ?? `save ${file ?? 'all'}`, only: file };
    const saved = settled(context, await then.ask(commit, saving));
    const { committed, commit: head, count } = context.take(file === null ? saved : tellingWritten(saved, file));
    return { saved: true as const, name: file, hash, committed, commit: head, files: count, brain, branch };
  },
});

/** Between the two steps somebody may have taken the branch away; the first one stands, and the answer says so. */
function tellingWritten<Value, Code extends RefusalCode>(
  saved: Decision<Value, Code>,
  file: string,
): Decision<Value, Code> {
  if (saved.ok) return saved;
  const { code, details, message = REFUSALS[code] } = saved;
  return deny(code, { ...details, written: file }, `${message} ${file} is written, and not committed.`);
}

const deleteFile = defineTool({
  name: 'brain_delete_file',
  area: 'brain',
  description: 'Removes a file; its past versions stay in the history.',
  input: z.strictObject({ ...name, ...brainAndBranch, ...leaseGuard, ...ifMatch }),
  output: z.strictObject({
    deleted: z.literal(true),
    name: z.string(),
    file: z.string(),
    hash: Sha256Hex.describe('Of what went.'),
  }),
  access: 'identified',
  effect: 'write',
  destructive: true,
  refuses: [...COMMIT_REFUSES, 'E_CONFLICT', 'E_FILE_ABSENT'],
  raises: WRITE_RAISES,
  dress: { deleted: false },
  aliases: nameAlias,
  async handler({ name: wanted, ...wish }, context) {
    const path = checkedPath(wanted);
    const { ask, branch } = await resolveWrite(context, wish);
    const removal = { branch, path, content: null, ifMatch: wish.ifMatch ?? null };
    const { file, hash } = context.take(neverDenied(settled(context, await ask(changeFile, removal)), 'E_QUOTA'));
    return { deleted: true as const, name: wanted, file, hash };
  },
});

export const fileTools = [brainRead, getFile, brainWrite, brainSave, deleteFile];
