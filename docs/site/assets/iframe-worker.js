// Browsers start no worker from a page that was opened as a file. This class runs a worker's script in a hidden frame
// instead, so that the search works in a folder without a server. Elsewhere it changes nothing.
if (location.protocol === "file:") {
  // As between threads, what is sent is a copy.
  const message = (data) => new MessageEvent("message", { data: structuredClone(data) });

  window.Worker = class {
    constructor(url) {
      this.onmessage = null;
      this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      // The script answers with postMessage(answer): to this page, not to its own window.
      inside.postMessage = (data) => {
        const answer = message(data);
        setTimeout(() => this.onmessage?.(answer));
      };
      const script = inside.document.createElement("script");
      this.ready = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
      });
      this.ready.catch((error) => this.onerror?.(error));
      script.src = url;
      inside.document.body.append(script);
    }

    postMessage(data) {
      const question = message(data);
      this.ready.then(() => this.frame?.contentWindow.dispatchEvent(question), () => {});
    }

    terminate() {
      this.frame?.remove();
      this.frame = null;
    }
  };
}
