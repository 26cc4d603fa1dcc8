// <gpu-sizer lang theme query>: the sizer in a sandboxed frame that grows with its content. Messages are taken from that
// frame only. Where scripts are blocked, whatever stands inside the element (a plain link) remains.
(() => {
  "use strict";
  if (!window.customElements || customElements.get("gpu-sizer")) return;
  const script = document.currentScript;
  const base = new URL(script && script.src ? script.src : location.href);

  class GpuSizer extends HTMLElement {
    connectedCallback() {
      if (this.frame) return;
      const address = new URL("/embed/sizer", base);
      address.search = this.getAttribute("query") || "";
      const own = { lang: this.getAttribute("lang"), theme: this.getAttribute("theme"), origin: location.origin };
      for (const [name, value] of Object.entries(own)) if (value) address.searchParams.set(name, value);
      const frame = document.createElement("iframe");
      frame.src = address.href;
      frame.title = this.getAttribute("label") || (own.lang === "en" ? "GPU cluster sizer" : "GPU 集群测算");
      frame.loading = "lazy";
      frame.setAttribute("sandbox", "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox");
      frame.style.cssText = "display:block;width:100%;border:0;min-height:30rem";
      this.replaceChildren(frame);
      this.frame = frame;
      this.listener = (event) => this.hear(event);
      window.addEventListener("message", this.listener);
    }

    disconnectedCallback() {
      window.removeEventListener("message", this.listener);
      this.frame = null;
    }

    hear(event) {
      // a frame without allow-same-origin speaks as "null"; its window tells whose it is
      if (!this.frame || event.source !== this.frame.contentWindow) return;
      if (event.origin !== base.origin && event.origin !== "null") return;
      const message = event.data;
      if (!message || message.source !== "gpu-sizer" || message.v !== 1) return;
      if (message.type === "resize" && message.height > 0 && message.height < 20000) {
        this.frame.style.minHeight = "0";
        this.frame.style.height = `${Math.ceil(message.height)}px`;
      } else if (message.type === "result") {
        this.dispatchEvent(new CustomEvent("gpu-sizer-result", { detail: message.result, bubbles: true }));
      }
    }
  }
  customElements.define("gpu-sizer", GpuSizer);
})();
