(function(){
var doc=document,told=doc.getElementById("told"),on=[];
function clear(){on.forEach(function(e){e.classList.remove("on")});on=[]}
function mark(e){e.classList.add("on");on.push(e)}
function show(n){clear();mark(n);var t=n.querySelector("title");if(t&&told)told.textContent=t.textContent;
if(n.id){var svg=n.closest("svg");svg.querySelectorAll("path[data-e]").forEach(function(p){if((" "+p.dataset.e+" ").indexOf(" "+n.id+" ")>=0)mark(p)})}}
function reveal(e){for(var d=e;d;d=d.parentElement)if(d.tagName==="DETAILS")d.open=true;e.scrollIntoView({block:"center",inline:"center"})}
function go(id){var e=doc.getElementById(id);if(!e)return;reveal(e);if(e.classList.contains("n"))show(e);fitIn(e)}
doc.addEventListener("mouseover",function(ev){var n=ev.target.closest(".n");if(n)show(n)});
var moved=false;
doc.addEventListener("click",function(ev){var n=ev.target.closest(".n");if(n&&!moved){show(n);if(n.dataset.to)go(n.dataset.to)}});
function zoom(v,z){var s=v.querySelector("svg"),w=+s.dataset.w,h=+s.dataset.h,old=s.width.baseVal.value/w,
cx=(v.scrollLeft+v.clientWidth/2)/old,cy=(v.scrollTop+v.clientHeight/2)/old;z=Math.max(.08,Math.min(4,z));
s.setAttribute("width",w*z);s.setAttribute("height",h*z);v.scrollLeft=cx*z-v.clientWidth/2;v.scrollTop=cy*z-v.clientHeight/2}
function fit(v,all){var s=v.querySelector("svg"),w=+s.dataset.w,h=+s.dataset.h;if(!v.clientWidth)return;
var z=Math.min(1,v.clientWidth/w);if(all)z=Math.min(z,.76*innerHeight/h);zoom(v,all?z:Math.max(z,.62));if(!all){v.scrollTop=0;var top=1/0,first=null;s.querySelectorAll(":scope>.n").forEach(function(n){var y=n.transform.baseVal[0].matrix.f;if(y<top){top=y;first=n}});if(first){var m=first.transform.baseVal[0].matrix.e+first.getBBox().width/2;v.scrollLeft=m*Math.max(z,.62)-v.clientWidth/2}}}
function fitIn(e){(e.tagName==="DETAILS"?e:e.closest("details")||doc).querySelectorAll(".view").forEach(function(v){if(!v.dataset.fit&&v.clientWidth){v.dataset.fit=1;fit(v,false)}})}
doc.querySelectorAll(".view").forEach(function(v){var s=v.querySelector("svg");s.dataset.w=s.getAttribute("width");s.dataset.h=s.getAttribute("height");
var x,y,l,t,down=false;
v.addEventListener("pointerdown",function(e){moved=false;if(e.pointerType!=="mouse"||e.button)return;down=true;x=e.clientX;y=e.clientY;l=v.scrollLeft;t=v.scrollTop});
addEventListener("pointermove",function(e){if(!down)return;if(Math.abs(e.clientX-x)+Math.abs(e.clientY-y)>4){moved=true;v.classList.add("drag")}v.scrollLeft=l-e.clientX+x;v.scrollTop=t-e.clientY+y});
addEventListener("pointerup",function(){down=false;v.classList.remove("drag")});
v.addEventListener("wheel",function(e){if(!e.ctrlKey)return;e.preventDefault();zoom(v,s.width.baseVal.value/s.dataset.w*Math.exp(-e.deltaY/300))},{passive:false});
v.parentElement.querySelectorAll("button").forEach(function(b){b.addEventListener("click",function(){var z=+b.dataset.z;if(z)zoom(v,s.width.baseVal.value/s.dataset.w*z);else fit(v,true)})})});
doc.querySelectorAll("details").forEach(function(d){d.addEventListener("toggle",function(){if(d.open)fitIn(d)})});
fitIn(doc.body);
var find=doc.getElementById("find"),found=doc.getElementById("found"),hits=[],next=0;
function search(){hits.forEach(function(n){n.classList.remove("hit")});hits=[];next=0;var q=find.value.trim().toLowerCase();
if(q)doc.querySelectorAll(".n[id]").forEach(function(n){var t=n.querySelector("title");if(t&&t.textContent.toLowerCase().indexOf(q)>=0){hits.push(n);n.classList.add("hit")}});
found.textContent=q?hits.length+(hits.length===1?" match":" matches")+(hits.length?"; Enter goes to the next":""):""}
if(find){find.addEventListener("input",search);find.addEventListener("keydown",function(e){if(e.key==="Enter"&&hits.length){go(hits[next%hits.length].id);next++;find.focus({preventScroll:true})}})}
doc.documentElement.dataset.ready=doc.documentElement.scrollWidth<=innerWidth?"yes":"wide";
})();
