/** What the doors do for other services: they call tools in the name of who was there before. */
import { z } from 'zod';
import { IdentityId, WorkspaceName } from './names.ts';
import { type Answer, defineOperations, type Question } from './operation.ts';
import { TokenLimits } from './registry.ts';
import { MAX_HOPS } from './rpc.ts';
import { EFFECTS } from './tool.ts';

/**
 * As whom a tool is called. An identity is read from the registry anew and has to have a role in the workspace; `limits` are
 * those of the token that it came with.
 */
export const ActingAs = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('identity'),
    id: IdentityId,
    workspace: WorkspaceName,
    limits: TokenLimits.pick({ bound: true, readOnly: true, profile: true }).extend({
      /** Absent = no token stands behind the call any more. */
      expiresAt: TokenLimits.shape.expiresAt.optional(),
    }),
  }),
  /** Of these doors, for the agent if one is named. */
  z.strictObject({ kind: z.literal('operator'), agentId: z.string().max(128).nullable() }),
  z.strictObject({ kind: z.literal('anonymous'), address: z.string().min(1).max(100) }),
]);
export type ActingAs = z.output<typeof ActingAs>;

/** Instead of the id of a token, where none stands behind a call any more. */
export const NO_TOKEN = 'none';

export const GATEWAY = defineOperations('gateway', {
  /** `complete`: the tools of all services are known, so that null is a tool that there is not. */
  tool: {
    effect: 'read',
    askers: ['universe'],
    question: z.strictObject({ name: z.string().max(100) }),
    answer: z.strictObject({ complete: z.boolean(), effect: z.enum(EFFECTS).nullable() }),
  },
  /** The call of a tool as if it had come through a door: the same rights, limits and records. Throws its call errors. */
  dispatch: {
    effect: 'write',
    askers: ['universe'],
    newer: ['tokenId'],
    question: z.strictObject({
      tool: z.string().min(1).max(100),
      args: z.record(z.string(), z.unknown()),
      as: ActingAs,
      /** With which the caller came: nothing is called in its name once that has ended. Absent = with none. */
      tokenId: TokenLimits.shape.tokenId.max(64).optional(),
      /** Whose current values count. */
      session: z.string().regex(/^[0-9a-f]{64}$/),
      requestId: z.string().min(1).max(64),
      hops: z.int().min(1).max(MAX_HOPS),
      key: z.string().min(1).max(255).optional(),
      /** Only whether the arguments fit; nothing is done. */
      only: z.literal('arguments').optional(),
      /** Of a longer result nothing is told but its size. */
      mostBytes: z.int().min(0),
    }),
    answer: z.strictObject({
      /** JSON text of what the tool says. */
      result: z.string().nullable(),
      bytes: z.int(),
      refusal: z.string().nullable(),
      /** Fields of the result that nobody stores, by their paths; absent = doors of a version that does not tell. */
      secrets: z.array(z.string()).optional(),
    }),
  },
});

export type Dispatched = Answer<typeof GATEWAY, 'dispatch'>;
export type DispatchQuestion = Question<typeof GATEWAY, 'dispatch'>;
