/** Who may hear an event: one rule for live delivery and for replay. */
import { type Audience, type EventName, EVENTS, type EventRecord } from '@svc/contract/events.ts';
import { evaluate, type Policy } from '@svc/contract/policy.ts';
import { isAnonymous, type Subject } from '@svc/contract/subject.ts';

export interface Listener {
  readonly subject: Subject;
  readonly operator: boolean;
  /** Roles in each workspace, as the registry of identities knows them. */
  readonly roles: Readonly<Record<string, readonly string[] | undefined>>;
}

/** The payload that `listener` may see, or null. `policies`: those attached to the event's resources. */
export function visiblePayload(
  event: EventRecord,
  listener: Listener,
  policies: readonly Policy[],
): Record<string, unknown> | null {
  if (!isWorkspaceOpen(event.workspace, listener) || !audienceFits(event, listener)) return null;
  let shown: Record<string, unknown> = event.payload;
  for (const policy of policies) {
    const seen = evaluate(policy, listener.subject, 'read', shown);
    if (!seen.allowed) return null;
    shown = seen.data as Record<string, unknown>;
  }
  return shown;
}

function isWorkspaceOpen(workspace: string | undefined, { operator, roles }: Listener): boolean {
  return workspace === undefined || operator || roles[workspace] !== undefined;
}

/** The policies decide for `readers`, the workspace for `members`; `parties` are named by nobody but the operator yet. */
function audienceFits({ name, workspace }: EventRecord, { operator, subject, roles }: Listener): boolean {
  if (operator) return true;
  switch (audienceOf(name)) {
    case 'public':
    case 'readers':
      return true;
    case 'members':
      return !isAnonymous(subject);
    case 'admins':
      return workspace !== undefined && roles[workspace]?.includes('admin') === true;
    default:
      return false;
  }
}

/** An event that only a newer service knows is nobody's but the operator's. */
function audienceOf(name: EventName): Audience {
  return Object.hasOwn(EVENTS, name) ? EVENTS[name].audience : 'operator';
}
