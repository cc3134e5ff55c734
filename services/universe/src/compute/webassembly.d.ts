/** The few parts that are used: the types of Node have none, and those of browsers bring everything else along. */
declare namespace WebAssembly {
  type Module = object;
  type Memory = object;
  const Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory;
  function compile(bytes: Uint8Array): Promise<Module>;
}
