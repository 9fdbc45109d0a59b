// Blocks of data: packed in this page, or in scripts of the folder next to it, which are loaded on demand.
// A page that is opened from a disk may load only scripts.
const store = (() => {
  const texts = new Map();
  const waiting = new Map();

  async function unpack(text) {
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }

  function load(file) {
    if (!waiting.has(file)) {
      waiting.set(file, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `${flow.folder}/${file}.js`;
        script.onload = () => { script.remove(); done(); };
        script.onerror = () => {
          script.remove();
          waiting.delete(file);
          failed(new Error(`${flow.folder}/${file}.js cannot be loaded: the folder must be next to this page`));
        };
        document.head.append(script);
      }));
    }
    return waiting.get(file);
  }

  return {
    take(blocks) {
      for (const [name, text] of Object.entries(blocks)) texts.set(name, text);
    },
    // Whether a block is in this page or may be in the folder.
    has: (name) => texts.has(name) || flow.folder !== "",

    // The bytes of a block; `file` has it where the page does not.
    async get(name, file) {
      if (!texts.has(name)) {
        await load(file);
      }
      const text = texts.get(name);
      if (text === undefined) throw new Error(`${flow.folder}/${file}.js belongs to another page`);
      if (flow.folder && file !== undefined && waiting.has(file)) texts.delete(name), waiting.delete(file);
      return unpack(text);
    },
  };
})();
window.whyperfFlow = { take: store.take };
