/**
 * The files of the category `agents`, for whoever makes agents after them: those that everybody may read, under the row
 * rules that hold for a caller who says nothing of himself.
 */
import { isFilePath } from '@svc/contract/names.ts';
import type { BRAIN, BrainAnswer } from '@svc/contract/operations.brain.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { AskedBrain } from './brain/brain-router.ts';
import type { BrainDeps } from './deps.ts';
import { DEFAULT_BRANCH } from './domain/stack.ts';
import { listFiles, readFile } from './operations/files.ts';
import type { OpContext } from './writer/context.ts';

const CATEGORY = 'agents';
const MAX_FILES = 200;
const MAX_BEGINNING = 4096;

type Files = BrainAnswer<'prototypes'>['files'];

export const prototypes: Handlers<typeof BRAIN, BrainDeps>['prototypes'] = async ({ name }, { deps, deadlineAt }) => {
  const brain = deps.router.brain(deps.defaultBrain, anonymousContext(deadlineAt));
  return { files: await (name === undefined ? all(brain) : one(brain, name)) };
};

async function all(brain: AskedBrain): Promise<Files> {
  const page = await brain.ask(listFiles, {
    branch: DEFAULT_BRANCH,
    category: CATEGORY,
    at: null,
    limit: MAX_FILES,
    after: null,
    withContent: true,
    withTitle: false,
  });
  if (!page.ok) return [];
  return page.value.files.flatMap(({ file, content = '' }) => {
    const name = nameOf(file);
    return name === null ? [] : [{ name, content: content.slice(0, MAX_BEGINNING) }];
  });
}

async function one(brain: AskedBrain, name: string): Promise<Files> {
  const path = `${CATEGORY}/${name}.md`;
  if (nameOf(path) !== name || !isFilePath(path)) return [];
  const read = await brain.ask(readFile, { branch: DEFAULT_BRANCH, path, at: null });
  return read.ok ? [{ name, content: read.value.content }] : [];
}

/** Markdown directly in the category. */
function nameOf(file: string): string | null {
  return /^agents\/([^/]+)\.md$/.exec(file)?.[1] ?? null;
}

function anonymousContext(deadlineAt: number): OpContext {
  return {
    actor: 'anonymous',
    subject: { workspace: DEFAULT_WORKSPACE },
    session: '0'.repeat(64),
    verifiedAgent: null,
    declaredAgent: null,
    fence: null,
    // It only reads, and a read is never late.
    since: 0,
    deadlineAt,
    repeatable: true,
    idempotency: null,
    registry: null,
    operator: false,
    isService: false,
  };
}
