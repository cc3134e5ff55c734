/** What the brain does with files for another service, with no more rights than whoever called that service has. */
import { z } from 'zod';
import type { Caller } from './tool.ts';
import { BranchName, BrainName } from './names.ts';
import { FileContent, MAX_LIMIT, PathText, Sha256Hex } from './params.ts';
import { RegistryStamp, TokenLimits } from './registry.ts';
import { Subject } from './subject.ts';

/** Who caused it, as the gateway established it. Without `registry` it is judged under what the registry stands at then. */
export const Bearer = z.strictObject({
  subject: Subject,
  operator: z.boolean(),
  token: TokenLimits.nullable(),
  session: Sha256Hex,
  registry: RegistryStamp.nullable(),
});
export type Bearer = Readonly<z.output<typeof Bearer>>;

export function bearerOf({ subject, operator, token, session, registry }: Caller): Bearer {
  return { subject, operator, token, session, registry };
}

/** Null = where the session of the bearer is. */
const place = { on: Bearer, brain: BrainName.nullable(), branch: BranchName.nullable() };
const placed = { brain: z.string(), branch: z.string() };
const askers = ['universe'] as const;
const MAX_FILES = 64;
const MAX_LEASE_MS = 60_000;
const Reference = z.string().min(1).max(200);

const GUARD = ['E_LOCKED', 'E_FENCED', 'E_READ_ONLY', 'E_BRAIN_DIVERTED'] as const;

const Written = z.array(z.strictObject({ path: z.string(), created: z.boolean(), resources: z.array(z.string()) }));

export const BRAIN_FILES = {
  /** As they are shown to the bearer; base64 of what is no text. Those that it may not read are left out. */
  readFiles: {
    effect: 'read',
    askers,
    question: z.strictObject({ ...place, paths: z.array(PathText).min(1).max(MAX_FILES) }),
    answer: z.strictObject({
      ...placed,
      files: z.array(z.strictObject({ path: z.string(), content: z.string(), encoding: z.enum(['utf8', 'base64']) })),
    }),
    refuses: ['E_BRANCH_ABSENT'],
  },
  /** Paths below a directory that the bearer may read, in their order, after the one that is named. */
  listFiles: {
    effect: 'read',
    askers,
    question: z.strictObject({
      ...place,
      directory: PathText,
      after: z.string().nullable(),
      limit: z.int().min(1).max(MAX_LIMIT),
    }),
    answer: z.strictObject({ ...placed, paths: z.array(z.string()), more: z.boolean() }),
    refuses: ['E_BRANCH_ABSENT'],
  },
  /**
   * All of them in one step, or none. The same `ref` again has the first outcome, also where that was a refusal; what a bearer
   * may not do is thrown and is none. `ifMatch` as in brain_write. `lease`: the session under which the asker holds the
   * lease of the brain; null = as the bearer itself. `fence` must be that of the live lease. `resources` say who may
   * hear of a file.
   */
  writeFiles: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({
      ...place,
      ref: Reference,
      lease: Sha256Hex.nullable(),
      fence: z.int().nullable(),
      files: z
        .array(z.strictObject({ path: PathText, content: FileContent, ifMatch: z.string().nullable() }))
        .min(1)
        .max(MAX_FILES),
    }),
    answer: z.strictObject({ ...placed, files: Written }),
    refuses: [...GUARD, 'E_CONFLICT', 'E_QUOTA', 'E_STATE_WRITE', 'E_BRANCH_ABSENT', 'E_LIMIT'],
  },
  /** What was written under `ref`. Null = nothing, and nothing ever will be: a write that arrives late is E_FENCED. */
  forgoWrite: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ ref: Reference }),
    answer: z.strictObject({ written: Written.nullable() }),
  },
  /**
   * Holds the lease of a brain under a session of the asker, or longer if it holds it already; who holds it as the bearer
   * goes on under that, with `lease` null. Throws RLS_DENIED where the bearer may not change the brain as a whole.
   */
  holdLease: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({
      ...place,
      lease: Sha256Hex,
      holder: z.string().min(1).max(100),
      ttlMs: z.int().min(1000).max(MAX_LEASE_MS),
    }),
    answer: z.strictObject({ ...placed, lease: Sha256Hex.nullable(), fence: z.int() }),
    refuses: ['E_LOCKED', 'E_READ_ONLY'],
  },
  /** A lease that is not held under that session is left as it is. */
  giveBackLease: {
    effect: 'write-idempotent',
    askers,
    question: z.strictObject({ ...place, lease: Sha256Hex }),
    answer: z.strictObject({ ended: z.boolean() }),
  },
} as const;
