/** How a variable of the environment is declared. */
import type { z } from 'zod';

export interface Variable<Schema extends z.ZodType> {
  readonly schema: Schema;
  readonly meaning: string;
  /** Text shown in documentation; secrets never show a value. */
  readonly fallback: string;
  readonly secret?: true;
  readonly alike?: Alike;
}

/** All processes of `service` need the same value; `besides` = this one counts beside that of the other variable. */
export interface Alike {
  readonly service: string;
  readonly besides?: string;
}

export function alike<Declared extends Variable<z.ZodType>>(
  service: string,
  declared: Declared,
  besides?: string,
): Declared & { readonly alike: Alike } {
  return { ...declared, alike: { service, ...(besides === undefined ? {} : { besides }) } };
}

export function variable<Schema extends z.ZodType>(
  schema: Schema,
  fallback: string,
  meaning: string,
): Variable<Schema> {
  return { schema, fallback, meaning };
}

export function secret<Schema extends z.ZodType>(schema: Schema, meaning: string): Variable<Schema> {
  return { schema, fallback: 'none', meaning, secret: true };
}

/** The sentence of a variable that does not fit; never its value. */
export function misfit(name: string, { issues }: z.ZodError): string {
  return `${name}: ${issues.map((issue) => issue.message).join('; ')}`;
}
