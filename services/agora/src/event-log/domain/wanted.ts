/** Which events a reader of the log asks for. */
import { areaOf, isNamedBy } from '@svc/contract/event-visibility.ts';
import { EVENTS } from '@svc/contract/events.ts';

export interface Wanted {
  /** A name, or with a `*` at its end whatever begins so. */
  readonly nameFilter?: string | undefined;
  /** A service, or the area of names. */
  readonly module?: string | undefined;
}

export function isAskedFor({ nameFilter, module }: Wanted, name: string): boolean {
  if (nameFilter !== undefined && !isNamedBy(nameFilter, name)) return false;
  return module === undefined || areaOf(name) === module || serviceOf(name) === module;
}

function serviceOf(name: string): string | null {
  const declared: Readonly<Record<string, { readonly service: string }>> = EVENTS;
  return Object.hasOwn(declared, name) ? (declared[name]?.service ?? null) : null;
}
