/** Row rules as pure functions: container isolation first, then the rules, with the reason of each decision. */
import { z } from 'zod';
import { WorkspaceName } from './names.ts';
import type { Subject } from './subject.ts';
import { applyTransforms, Transform } from './transform.ts';

/** `public`, or `<kind>:<value>` split at the first colon; compared as a whole and never parsed at decision time. */
export const RuleText = z
  .string()
  .regex(
    /^(public|(container|role|user|team|brain):[^\p{Cc}\p{Cs}]{1,128})$/u,
    'must be "public" or container:, role:, user:, team: or brain: with 1-128 characters',
  );

const MAX_RULES = 64;

/** A policy as it is stored and carried: whole, nothing defaulted. */
export const Policy = z.strictObject({
  readableBy: z
    .array(RuleText)
    .max(MAX_RULES)
    .describe(
      'Whom of the container: public (default), user:<agent or user>, role:<role there>, team:<team>, container:<workspace>, brain:<brain>; empty = everybody.',
    ),
  writableBy: z.array(RuleText).max(MAX_RULES).describe('The same for writing, default role:admin.'),
  container: z
    .union([z.literal('public'), WorkspaceName])
    .describe('The workspace outside of which nobody passes, or public; default: default.'),
  filter: Transform.describe('Fields that are left out, or private, secrets, nested.'),
  mask: Transform.describe('Fields shown as [masked], or secrets, email, all.'),
});
export type Policy = Readonly<z.output<typeof Policy>>;

export type PolicyMode = 'read' | 'write';

/** Why: the rule that admitted, or `no-rules`; denied: `container`, `no-match` or `transform`. */
export interface Verdict {
  readonly allowed: boolean;
  readonly because: string;
}

/** What a subject is known as: the rules that would admit it. */
export type KeySet = ReadonlySet<string>;

/** The policy of a resource to which none is attached. */
export const DEFAULT_POLICY: Policy = {
  readableBy: ['public'],
  writableBy: ['role:admin'],
  container: 'default',
  filter: [],
  mask: [],
};

const HOME_KEY = '_home:';

/** Resource whose policy is that of everything at home in the workspace which has none of its own. */
export function homeKey(workspace: string): string {
  return `${HOME_KEY}${workspace}`;
}

/** The workspace whose home boundary a resource is; null = it is something else. */
export function workspaceOfHomeKey(resource: string): string | null {
  return resource.startsWith(HOME_KEY) && !resource.includes(OWN) ? resource.slice(HOME_KEY.length) : null;
}

/** Separates the keys of an event's resource that has a home; no key of a file or an island holds it. */
const OWN = '|';

/** How an event names a home boundary: it counts where none of `own`, the keys of the thing itself, has a policy. */
export function homeResource(workspace: string, own: readonly string[]): string {
  return [homeKey(workspace), ...own].join(OWN);
}

export function isHomeResource(resource: string): boolean {
  return resource.startsWith(HOME_KEY);
}

/** The keys by which policies of an event's resource are looked up. */
export function keysOfResource(resource: string): readonly string[] {
  return isHomeResource(resource) ? resource.split(OWN) : [resource];
}

/** The policy that an event's resource stands for; null = none. */
export function policyOfResource(resource: string, attached: ReadonlyMap<string, Policy>): Policy | null {
  const [key = resource, ...own] = keysOfResource(resource);
  return own.some((other) => attached.has(other)) ? null : (attached.get(key) ?? null);
}

/** Absent fields add nothing; a subject that claims an unknown workspace is nobody in particular. */
export function keysOf(subject: Subject): KeySet {
  const keys = new Set(['public']);
  if (subject.unknownWorkspace === true) return keys;
  if (subject.workspace !== undefined) keys.add(`container:${subject.workspace}`);
  for (const role of subject.roles ?? []) keys.add(`role:${role}`);
  if (subject.userId !== undefined) keys.add(`user:${subject.userId}`);
  if (subject.team !== undefined) keys.add(`team:${subject.team}`);
  if (subject.brain !== undefined) keys.add(`brain:${subject.brain}`);
  return keys;
}

/** `public` containers are open to every workspace; otherwise the subject's workspace, if it has one, must be the container. */
export function containerAdmits(policy: Policy, { workspace }: Pick<Subject, 'workspace'>): boolean {
  return policy.container === 'public' || workspace === undefined || workspace === policy.container;
}

/** `keys` = `keysOf(subject)`, for callers that judge many rows. */
export function decide(policy: Policy, subject: Subject, mode: PolicyMode, keys: KeySet = keysOf(subject)): Verdict {
  if (!containerAdmits(policy, subject)) return { allowed: false, because: 'container' };
  const rules = mode === 'read' ? policy.readableBy : policy.writableBy;
  if (rules.length === 0) return { allowed: true, because: 'no-rules' };
  const admitting = rules.find((rule) => keys.has(rule));
  return admitting === undefined ? { allowed: false, because: 'no-match' } : { allowed: true, because: admitting };
}

type Evaluation =
  | { readonly allowed: true; readonly because: string; readonly data: unknown }
  | { readonly allowed: false; readonly because: string };

/** The data as the subject may see it: a copy without the filtered fields and with the masked ones hidden. */
export function evaluate(policy: Policy, subject: Subject, mode: PolicyMode, data: unknown): Evaluation {
  const verdict = decide(policy, subject, mode);
  if (!verdict.allowed) return { allowed: false, because: verdict.because };
  const shown = applyTransforms(policy, data);
  return shown === null
    ? { allowed: false, because: 'transform' }
    : { allowed: true, because: verdict.because, data: shown.data };
}
