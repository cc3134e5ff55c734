/** What a client may say over its socket, and the answers. */
import { z } from 'zod';
import { WorkspaceName } from '@svc/contract/names.ts';
import {
  type EventFilter,
  isTooLarge,
  MAX_WANTED,
  withoutSubscription,
  withSubscription,
} from './domain/event-filter.ts';
import { holdsRoleIn, type Listener } from '@svc/contract/event-visibility.ts';

const EventNames = z.array(z.string().regex(/^[a-z][a-z0-9-]{0,39}:(\*|[a-z][a-z0-9-]{0,39})$/)).max(MAX_WANTED);

const Subscribe = z.strictObject({
  events: EventNames.optional(),
  workspace: WorkspaceName.optional(),
  after: z.string().min(1).max(100).optional(),
});
const Unsubscribe = z.strictObject({ events: EventNames.optional() });

export type Answer =
  | { readonly ok: true; readonly events?: readonly string[]; readonly workspaces?: readonly string[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface Understood {
  readonly answer: Answer;
  readonly filter: EventFilter;
  readonly after?: string | undefined;
}

export function refused(code: string, message: string): Extract<Answer, { ok: false }> {
  return { ok: false, code, message };
}

export function subscribe(message: unknown, filter: EventFilter, listener: Listener): Understood {
  const parsed = Subscribe.safeParse(message ?? {});
  if (!parsed.success) return { answer: misfit(parsed.error), filter };
  const { events, workspace, after } = parsed.data;
  // A workspace that does not exist gets the same answer, so that names cannot be probed.
  if (workspace !== undefined && !listener.operator && !holdsRoleIn(listener, workspace)) {
    return { answer: refused('FORBIDDEN', 'You hold no role in that workspace.'), filter };
  }
  const wanted = withSubscription(filter, events, workspace);
  if (isTooLarge(wanted)) return { answer: TOO_MUCH, filter };
  const workspaces = wanted.workspaces ?? Object.keys(listener.roles);
  return { answer: { ok: true, events: wanted.names ?? ['*'], workspaces }, filter: wanted, after };
}

export function unsubscribe(message: unknown, filter: EventFilter): Understood {
  const parsed = Unsubscribe.safeParse(message ?? {});
  if (!parsed.success) return { answer: misfit(parsed.error), filter };
  const wanted = withoutSubscription(filter, parsed.data.events);
  return isTooLarge(wanted) ? { answer: TOO_MUCH, filter } : { answer: { ok: true }, filter: wanted };
}

const TOO_MUCH = refused(
  'VAF_INPUT_INVALID',
  `A socket has at most ${MAX_WANTED} names and ${MAX_WANTED} workspaces: unsubscribe some, or take \`area:*\`.`,
);

function misfit(error: z.ZodError): Answer {
  const problems = error.issues.map(({ path, message }) => `${path.join('.') || '(message)'}: ${message}`);
  return refused('VAF_INPUT_INVALID', problems.join('; ').slice(0, 500));
}
