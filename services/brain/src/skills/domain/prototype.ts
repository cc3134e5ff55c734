/** Skill prototypes: which file of a brain is one, and what its front matter says about it. */
import { findFrontMatter } from '../../domain/front-matter.ts';
import { readYaml } from '../../domain/yaml-document.ts';

export const FOLDER = 'skills';
const MAX_DESCRIPTION = 500;

/** Where the prototype of that name may lie, the first one wins. */
export function filesOfPrototype(name: string): readonly string[] {
  return [`${FOLDER}/${name}.md`, `${FOLDER}/${name}/SKILL.md`];
}

/** The name of the prototype that lies in the file; null = the file is none. */
export function prototypeIn(file: string): string | null {
  const [folder, name = '', inner, ...deeper] = file.split('/');
  if (folder !== FOLDER || deeper.length > 0) return null;
  if (inner !== undefined) return inner === 'SKILL.md' ? name : null;
  return name.endsWith('.md') ? name.slice(0, -'.md'.length) : null;
}

/** What stands in the front matter; nothing when there is none that can be read. */
export function metaOf(text: string): Record<string, unknown> {
  const found = findFrontMatter(text);
  const data = found === null ? null : (readYaml(text.slice(found.start, found.end))?.data ?? null);
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? { ...data } : {};
}

export function descriptionOf(text: string): string {
  const { description } = metaOf(text);
  return typeof description === 'string' ? description.slice(0, MAX_DESCRIPTION) : '';
}
