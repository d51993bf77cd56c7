// gzip in Base64, as text or as whatever the type says
const unpacked = (letters, type) => {
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const content = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(content, { headers: { "content-type": type } });
};
