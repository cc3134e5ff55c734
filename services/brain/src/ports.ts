/** What the brain asks of others, in its own words. */
import type { Subject } from '@svc/contract/subject.ts';

/** The row rules of one brain as they apply to one subject, fixed for the length of one operation. */
export interface RowView {
  /** The brain itself may be seen. */
  readonly mayOpen: boolean;
  mayRead(path: string): boolean;
  mayWrite(path: string): boolean;
}

export interface RowRules {
  /** Throws SERVICE_UNAVAILABLE when the rules cannot be had: nothing is decided on old ones. */
  view(subject: Subject, brain: string): Promise<RowView>;
}

const OPEN: RowView = { mayOpen: true, mayRead: () => true, mayWrite: () => true };

/** For a system in which no policy can be attached, because no service keeps any: every resource is open. */
export const noPolicies: RowRules = { view: async () => OPEN };
