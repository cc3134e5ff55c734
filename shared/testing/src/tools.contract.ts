/** The law for every tool of every service. */
import type { Tool } from '@svc/contract/tool.ts';
import { MAX_DEADLINE_MS, toolCard } from '@svc/contract/tool.ts';
import { describe, expect, it } from 'vitest';

/** What is called so is a raw token. */
const RAW = /(^|\.)(token|\w+Token)$/;

/** Paths of the fields of objects, in whatever form of the result they are. */
function fieldsOf({ properties = {}, anyOf = [] }: Schema, above = ''): string[] {
  const own = Object.entries(properties).flatMap(([name, schema]) => [
    `${above}${name}`,
    ...fieldsOf(schema, `${above}${name}.`),
  ]);
  return [...own, ...anyOf.flatMap((form) => fieldsOf(form, above))];
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

export function describeTools<Deps>(service: string, tools: readonly Tool<Deps>[]): void {
  describe(`the tools of ${service}`, () => {
    it('have names of their own', () => {
      const names = tools.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
    });

    it.each(tools.map((tool) => [tool.name, tool] as const))('%s keeps the law', (name, tool) => {
      expect(name).toMatch(/^[a-z][a-zA-Z0-9_]{2,63}$/);
      expect(tool.description).toMatch(/^[A-Z"'].{10,200}\.$/);
      expect(tool.deadlineMs).toBeLessThanOrEqual(MAX_DEADLINE_MS);
      const { inputSchema, outputSchema } = toolCard(service, tool);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: 'object' });
      if (tool.effect === 'read') expect(tool.destructive).toBe(false);
      for (const path of tool.secrets) expect(fieldsOf(outputSchema)).toContain(path);
      const raw = fieldsOf(outputSchema).filter((path) => tool.effect !== 'read' && RAW.test(path));
      expect(tool.secrets, `secrets of ${name}`).toEqual(expect.arrayContaining(raw));
      for (const [alias, target] of Object.entries(tool.aliases)) {
        const targets = typeof target === 'string' ? [target] : target.into;
        for (const argument of targets) expect(tool.input.shape, `${alias} of ${name}`).toHaveProperty(argument);
        expect(tool.input.shape, `${alias} is an argument of ${name} itself`).not.toHaveProperty(alias);
      }
      if (tool.example !== null) expect(tool.input.safeParse(tool.example).error).toBeUndefined();
    });
  });
}
