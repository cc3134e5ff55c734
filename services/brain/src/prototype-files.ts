/**
 * The files of the category `agents`, for whoever makes agents after them: those that everybody may read, under the row
 * rules that hold for a caller who says nothing of himself.
 */
import { isFilePath } from '@svc/contract/names.ts';
import { ASKED_WITHIN_MS } from '@svc/contract/registry.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import type { BrainRouter } from './brain/brain-router.ts';
import { listFiles, readFile } from './operations/files.ts';
import { DEFAULT_BRANCH } from './domain/stack.ts';
import type { OpContext } from './writer/context.ts';

const SUBJECT = 'brain.prototypes';
const CATEGORY = 'agents';
const MAX_FILES = 200;
const MAX_BEGINNING = 4096;
/** A file directly in the category, whatever else the name says. */
const Name = z.string().refine((name) => !name.includes('/') && isFilePath(fileOf(name)));
const Ask = z.strictObject({ name: Name.optional() });

export interface PrototypeFile {
  /** Without category and extension. */
  readonly name: string;
  /** Whole when one was asked for by its name, else its beginning. */
  readonly content: string;
}

/** Request `{name?}`, reply `{files}`, empty when there is none that everybody may read. */
export function answerForPrototypes(
  router: BrainRouter,
  { bus, clock, log, config }: Pick<Platform, 'bus' | 'clock' | 'log' | 'config'>,
): Promise<Subscription> {
  async function all(context: OpContext): Promise<PrototypeFile[]> {
    const page = await router.brain(config.SVC_BRAIN, context).ask(listFiles, {
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

  async function one(context: OpContext, name: string): Promise<PrototypeFile[]> {
    const question = { branch: DEFAULT_BRANCH, path: fileOf(name), at: null };
    const read = await router.brain(config.SVC_BRAIN, context).ask(readFile, question);
    return read.ok ? [{ name, content: read.value.content }] : [];
  }

  return bus.respond(
    SUBJECT,
    async (payload) => {
      try {
        const { name } = Ask.parse(JSON.parse(payload));
        const context = anonymousContext(clock.now() + ASKED_WITHIN_MS);
        return JSON.stringify({ files: await (name === undefined ? all(context) : one(context, name)) });
      } catch (error) {
        log.debug({ err: error }, 'no prototypes can be told');
        return JSON.stringify({});
      }
    },
    { queue: 'brain' },
  );
}

function fileOf(name: string): string {
  return `${CATEGORY}/${name}.md`;
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
    deadlineAt,
    idempotency: null,
    registry: null,
    operator: false,
    isService: false,
  };
}
