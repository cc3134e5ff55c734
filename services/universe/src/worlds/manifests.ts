/** Manifests and cells in the files of a brain, as somebody may read them. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Bearer } from '@svc/contract/operations.brain-files.ts';
import type { Files } from '../ports.ts';
import { type Manifest, manifestsOfFile, storedManifest } from './domain/manifest.ts';
import { cellFile, cellFolder, manifestFile } from './domain/restore.ts';
import { cellPath, GENERATIONS, liveBytes, rootOf } from './domain/state.ts';

/** Where somebody looks; null = where the session is. */
export interface Place {
  readonly on: Bearer;
  readonly brain: string | null;
  readonly branch: string | null;
}

/** Where that was. */
export interface Placed {
  readonly brain: string;
  readonly branch: string;
}

export type FindRefusal = 'E_SNAPSHOT_ABSENT' | 'E_SNAPSHOT_AMBIGUOUS' | 'E_SNAPSHOT_MANIFEST';
type Found = Decision<Manifest, FindRefusal>;

interface Read {
  /** Null = the session is on a branch that there is no more, on which nothing is found. */
  readonly at: Placed | null;
  readonly files: readonly { readonly path: string; readonly content: string; readonly encoding: 'utf8' | 'base64' }[];
}

const FOLDER = 'universe/manifests';
const ID = /^[0-9a-f]{1,64}$/;
const STORED = /^[0-9a-f]{64}\.json$/;
const WHOLE_ID_LENGTH = 64;
const PAGE = 1000;

type Reading = Pick<Files, 'readFiles' | 'listFiles'>;
export type Manifests = ReturnType<typeof createManifests>;

export function createManifests(files: Reading) {
  const read = async (place: Place, paths: readonly string[]): Promise<Read> => {
    const answer = await files.readFiles({ ...place, paths: [...paths] });
    if (!answer.ok) return { at: null, files: [] };
    const { brain, branch, files: found } = answer.value;
    return { at: { brain, branch }, files: found };
  };
  /** Null = there is none that may be read. */
  const textOf = async (place: Place, path: string) => {
    const { at, files: found } = await read(place, [path]);
    const [file] = found;
    return { at, text: file === undefined || file.encoding !== 'utf8' ? null : file.content };
  };
  return {
    /** By its id or the beginning of one; `inFile`: a file of the brain in which it is looked for instead. */
    async find(place: Place, prefix: string, inFile: string | null): Promise<Decision<FoundManifest, FindRefusal>> {
      if (!ID.test(prefix)) return deny('E_SNAPSHOT_ABSENT');
      if (inFile !== null) {
        const { at, text } = await textOf(place, inFile);
        return located(chosen(prefix, text), at);
      }
      const ids = prefix.length === WHOLE_ID_LENGTH ? [prefix] : await idsFrom(files, place, prefix);
      const [id] = ids;
      if (id === undefined) return deny('E_SNAPSHOT_ABSENT');
      if (ids.length > 1) return deny('E_SNAPSHOT_AMBIGUOUS', { count: ids.length });
      const { at, text } = await textOf(place, manifestFile(id));
      return located(text === null ? deny('E_SNAPSHOT_ABSENT') : storedManifest(id, text), at);
    },

    /** How many there are that may be read; what is in them is not looked at. */
    count: async (place: Place): Promise<number> => (await idsFrom(files, place, '')).length,

    /** Null = nothing lies under that id that may be read. */
    stored: (place: Place, id: string) => textOf(place, manifestFile(id)),

    /** The root over the cells that are there; null = there is none. */
    async liveRoot(place: Place, { world, seed }: CellPlace): Promise<{ at: Placed | null; root: string | null }> {
      const folder = cellFolder(world, seed);
      const generationOf = new Map(GENERATIONS.map((generation) => [cellFile(folder, generation), generation]));
      const { at, files: cells } = await read(place, [...generationOf.keys()]);
      const state = cells.flatMap(({ path, content, encoding }) => {
        const generation = generationOf.get(path);
        const bytes = encoding === 'utf8' ? content : Buffer.from(content, 'base64');
        return generation === undefined ? [] : [[cellPath(generation), liveBytes(bytes)] as const];
      });
      return { at, root: state.length === 0 ? null : rootOf(state) };
    },
  };
}

export interface FoundManifest {
  readonly manifest: Manifest;
  readonly at: Placed;
}

interface CellPlace {
  readonly world: string;
  /** In hex. */
  readonly seed: string;
}

function located(found: Found, at: Placed | null): Decision<FoundManifest, FindRefusal> {
  if (!found.ok) return found;
  return at === null ? deny('E_SNAPSHOT_ABSENT') : allow({ manifest: found.value, at });
}

function chosen(prefix: string, text: string | null): Found {
  if (text === null) return deny('E_SNAPSHOT_ABSENT');
  const held = manifestsOfFile(text);
  if (!held.ok) return held;
  const byId = new Map(held.value.filter(({ id }) => id.startsWith(prefix)).map((manifest) => [manifest.id, manifest]));
  const [manifest] = byId.values();
  if (manifest === undefined) return deny('E_SNAPSHOT_ABSENT');
  return byId.size > 1 ? deny('E_SNAPSHOT_AMBIGUOUS', { count: byId.size }) : allow(manifest);
}

async function idsFrom(files: Reading, place: Place, prefix: string): Promise<string[]> {
  const ids: string[] = [];
  for (let after = `${FOLDER}/${prefix}`; ; ) {
    const page = await files.listFiles({ ...place, directory: FOLDER, after, limit: PAGE });
    if (!page.ok) return ids;
    const names = page.value.paths.map((path) => path.slice(FOLDER.length + 1));
    const wanted = names.filter((name) => name.startsWith(prefix));
    ids.push(...wanted.filter((name) => STORED.test(name)).map((name) => name.slice(0, WHOLE_ID_LENGTH)));
    const last = page.value.paths.at(-1);
    if (!page.value.more || last === undefined || wanted.length < names.length) return ids;
    after = last;
  }
}
